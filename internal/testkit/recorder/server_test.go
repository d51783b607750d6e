package recorder_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weirhq/weir/internal/testkit/recorder"
)

const (
	seed     = 7
	attempts = 5
	bulk     = "ba_1"
)

// caller is an honest one: it takes items through both steps, one call per item.
type caller struct {
	t      *testing.T
	server *recorder.Server
	path   string
	life   int
}

func newCaller(t *testing.T, o recorder.Options) *caller {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calls.log")
	log, err := recorder.CreateLog(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	o.Seed = seed
	return &caller{t, recorder.NewServer(log, o), path, 1}
}

type result struct {
	ID, Status, Code, Message string
	Output                    recorder.Answer
}

// call sends one item and returns its result, or the status of a call that was refused.
func (c *caller) call(step, id string, data recorder.Data) (result, int) {
	c.t.Helper()
	raw, err := json.Marshal(map[string]any{
		"bulk_action": bulk, "step": step, "attempt": 1,
		"items": []map[string]any{{"id": id, "idempotency_key": bulk + "." + step + "." + id, "data": data}},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, "/"+step, bytes.NewReader(raw))
	req.Header.Set(recorder.LifeHeader, strconv.Itoa(c.life))
	w := httptest.NewRecorder()
	c.server.ServeHTTP(w, req)
	var answer struct{ Results []result }
	if w.Code != http.StatusOK {
		return result{}, w.Code
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Results) != 1 {
		c.t.Fatalf("answer %s: %v", w.Body, err)
	}
	return answer.Results[0], w.Code
}

// step calls until there is a last word or no attempt is left.
func (c *caller) step(step, id string, data recorder.Data) (last result, made int) {
	c.t.Helper()
	for made < attempts {
		r, status := c.call(step, id, data)
		if status != http.StatusOK {
			continue
		}
		made++
		if last = r; last.Status != recorder.Retry {
			break
		}
	}
	return last, made
}

// through takes an item as far as it gets and returns its row of a report.
func (c *caller) through(id string) recorder.Row {
	c.t.Helper()
	data := recorder.Data{User: id}
	for _, step := range []string{recorder.Award, recorder.Message} {
		last, made := c.step(step, id, data)
		if last.Status != recorder.Done {
			return recorder.Row{ID: id, State: recorder.Failed, Step: step, Code: last.Code, Message: last.Message, Attempts: made}
		}
		data.Award = last.Output.Receipt
	}
	return recorder.Row{ID: id, State: recorder.Done, Receipt: data.Award}
}

func (c *caller) log() []recorder.Entry {
	c.t.Helper()
	f, err := os.Open(c.path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	log, err := recorder.ReadLog(f)
	if err != nil {
		c.t.Fatal(err)
	}
	return log
}

func TestServerDoesWhatFateSays(t *testing.T) {
	c := newCaller(t, recorder.Options{NoRefusals: true})
	kinds := map[string]int{}
	for i := range 4000 {
		id := fmt.Sprint("u", i)
		f := recorder.FateOf(seed, recorder.Award, id)
		last, made := c.step(recorder.Award, id, recorder.Data{User: id})
		want, calls := recorder.Done, f.Retries+1
		switch {
		case f.Busy:
			want, calls = recorder.Retry, attempts
		case f.Code != "":
			want = recorder.Failed
		}
		if last.Status != want || last.Code != f.Code || last.Message != f.Message || made != calls {
			t.Fatalf("item %s: %+v after %d calls, want %s after %d by %+v", id, last, made, want, calls, f)
		}
		kinds[fmt.Sprint(want, f.Retries)]++
	}
	for _, kind := range []string{"done0", "done1", "done2", "failed0", "retry0"} {
		if kinds[kind] == 0 {
			t.Errorf("of 4000 items none was %s: %v", kind, kinds)
		}
	}
}

func TestServerRefusesSomeCallsAndWritesThemDown(t *testing.T) {
	c := newCaller(t, recorder.Options{})
	got := map[int]int{}
	for range 400 {
		_, status := c.call(recorder.Award, "u1", recorder.Data{User: "u1"})
		got[status]++
	}
	written := map[string]int{}
	for _, e := range c.log() {
		if e.Answer == recorder.Refused {
			written[e.Code]++
		}
	}
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		if n := got[status]; n == 0 || n != written[strconv.Itoa(status)] {
			t.Errorf("%d calls got status %d, the log has %d", n, status, written[strconv.Itoa(status)])
		}
	}
}

func TestServerNoticesAnItemThatBringsAnothersAward(t *testing.T) {
	c := newCaller(t, recorder.Options{NoRefusals: true})
	c.call(recorder.Message, "u1", recorder.Data{User: "u1", Award: recorder.Output(seed, recorder.Award, "u2")})
	if log := c.log(); len(log) != 1 || log[0].Answer != recorder.Wrong {
		t.Errorf("log = %+v, want one wrong call", log)
	}
}

func TestServerKnowsNoOtherActions(t *testing.T) {
	c := newCaller(t, recorder.Options{NoRefusals: true})
	if _, status := c.call("other", "u1", recorder.Data{User: "u1"}); status != http.StatusUnprocessableEntity {
		t.Errorf("status %d, want %d", status, http.StatusUnprocessableEntity)
	}
	if log := c.log(); len(log) != 0 {
		t.Errorf("log = %+v, want nothing", log)
	}
}
