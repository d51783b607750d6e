package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// oddsFail fails odd numbers and answers "out-n" for the others.
func oddsFail(name string) weir.Action[int, string] {
	return each(name, func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
		if it.Value%2 == 1 {
			b.Fail(i, "odd", fmt.Errorf("%d is odd", it.Value))
			return
		}
		b.Done(i, fmt.Sprint("out-", it.Value))
	})
}

// relay is a second step whose input is the item's number and the first step's answer.
func relay(name string, f func(b *weir.Batch[string, string], i int, it weir.Item[string])) weir.Action[string, string] {
	return weir.Action[string, string]{Name: name, BatchSize: 7, Handle: func(_ context.Context, b *weir.Batch[string, string]) error {
		for i, it := range b.Items() {
			f(b, i, it)
		}
		return nil
	}}
}

func joined(it weir.Item[int], out string) string { return fmt.Sprint(it.Value, ":", out) }

func TestOnlySurvivorsGoOnWithTheAnswerOfTheStepBefore(t *testing.T) {
	var second tally
	c := weir.Then(weir.Start(oddsFail("award")), relay("message", func(b *weir.Batch[string, string], i int, it weir.Item[string]) {
		second.add(it.ID)
		b.Done(i, "sent "+it.Value)
	}), joined)
	r := start(t, memory(), engine.Options{}, chain(c))
	rep := wait(t, submit(t, r, job[int]{Chain: c}, numbers(2500)))
	wantCounts(t, rep, 1250, 1250, 0)
	second.wantEach(t, 1250, 1)
	for i, row := range rowsOf(t, rep) {
		if i%2 == 1 {
			if row.State != "failed" || row.Step != "award" || row.Code != "odd" || row.Message != fmt.Sprint(i, " is odd") {
				t.Fatalf("row %d = %+v, want failed at award as odd", i, row)
			}
		} else if want := fmt.Sprintf(`"sent %d:out-%d"`, i, i); row.State != "done" || string(row.Output) != want || row.ID != id(i) {
			t.Fatalf("row %d = %+v, want done with %s", i, row, want)
		}
	}
	if s := rep.Steps; s[0].Done != 1250 || s[0].Failed != 1250 || s[1].Done != 1250 || s[1].Attempts != 1250 {
		t.Errorf("steps = %+v", s)
	}
}

func TestARestartBetweenTwoStepsReadsTheAnswersFromTheStore(t *testing.T) {
	dir := t.TempDir()
	var first tally
	award := each("award", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
		first.add(it.ID)
		b.Done(i, fmt.Sprint("out-", it.Value))
	})
	stuck := weir.Action[string, string]{Name: "message", BatchSize: 7, Handle: func(ctx context.Context, _ *weir.Batch[string, string]) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	s := disk(t, dir)
	c := weir.Then(weir.Start(award), stuck, joined)
	a := start(t, s, engine.Options{DrainFor: time.Millisecond}, chain(c))
	b := submit(t, a, job[int]{Chain: c}, numbers(300))
	for p := range b.Progress(t.Context()) {
		if p.Steps[0].Done == 300 {
			break
		}
	}
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	c = weir.Then(weir.Start(award), relay("message", func(b *weir.Batch[string, string], i int, it weir.Item[string]) { b.Done(i, it.Value) }), joined)
	again := start(t, disk(t, dir), engine.Options{}, chain(c))
	b, err := again.Get(t.Context(), b.ID())
	if err != nil {
		t.Fatal(err)
	}
	rep := wait(t, b)
	wantCounts(t, rep, 300, 0, 0)
	first.wantEach(t, 300, 1)
	for i, row := range rowsOf(t, rep) {
		if want := fmt.Sprintf(`"%d:out-%d"`, i, i); string(row.Output) != want {
			t.Fatalf("output of %s = %s, want %s", row.ID, row.Output, want)
		}
	}
}

func TestARawChainSeesItemsByteForByte(t *testing.T) {
	odd := json.RawMessage("{\"b\" : 1.00,\n \"a\":\"\\u00e9\"}")
	var got []byte
	raw := weir.Raw("raw", weir.RawStep(weir.Action[json.RawMessage, struct{}]{
		Name: "look", Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, struct{}]) error {
			got = append(got, b.Item(0).Value...)
			b.DoneRest()
			return nil
		},
	}))
	r := start(t, memory(), engine.Options{}, chain(raw))
	rep := wait(t, submit(t, r, job[json.RawMessage]{Chain: raw}, []weir.RawItem{{ID: "1", Value: odd}}))
	if string(got) != string(odd) || string(rowsOf(t, rep)[0].Data) != string(odd) {
		t.Errorf("handler saw %q, report has %q; want %q", got, rowsOf(t, rep)[0].Data, odd)
	}
}

// wire is the part of an HTTP batch call that the tests look at.
type wire struct {
	Items []struct {
		ID   string `json:"id"`
		Data string `json:"data"`
	} `json:"items"`
}

func TestAnHTTPStepGetsTheFirstStepsAnswersAndAnswersPerItem(t *testing.T) {
	var calls tally
	closed := make(chan struct{}, 100)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if calls.add("call") == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		var in wire
		if err = errors.Join(err, json.Unmarshal(body, &in)); err != nil {
			t.Error(err)
		}
		var out []string
		for i, it := range in.Items {
			answer := fmt.Sprintf(`{"id":%q,"status":"done","output":%q}`, it.ID, "mailed "+it.Data)
			if i == 0 {
				answer = fmt.Sprintf(`{"id":%q,"status":"failed","code":"no_address"}`, it.ID)
			}
			out = append(out, answer)
		}
		fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(out, ","))
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- struct{}{}
		}
	}
	srv.Start()
	defer srv.Close()
	mail := weir.HTTPAction[string, string]{Name: "mail", URL: srv.URL, BatchSize: 50}.Action()
	c := weir.Then(weir.Start(oddsFail("award")), mail, joined)
	r := start(t, memory(), engine.Options{}, chain(c))
	rep := wait(t, submit(t, r, job[int]{Chain: c}, numbers(100)))
	wantCounts(t, rep, 49, 51, 0)
	if got := string(rowOf(t, rep, id(2)).Output); got != `"mailed 2:out-2"` {
		t.Errorf("output of a mailed item = %s", got)
	}
	if got := rep.Steps[1]; got.Refused != 50 || got.Attempts != 50 {
		t.Errorf("mail step = %+v, want 50 refused and 50 attempts", got)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	<-closed // no connection outlives Run
}

func TestAPoisonousItemOfAnEndpointIsIsolated(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var in struct {
			Items []struct{ ID string }
		}
		if err := json.NewDecoder(req.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		for _, it := range in.Items {
			if it.ID == id(37) {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
		}
		_, _ = io.WriteString(w, `{"default":"done"}`)
	}))
	defer srv.Close()
	a := weir.HTTPAction[int, string]{
		Name: "mail", URL: srv.URL, Retry: weir.Backoff{MaxAttempts: 3, Base: time.Millisecond, Cap: 2 * time.Millisecond},
	}.Action()
	r := start(t, memory(), engine.Options{}, action(a))
	rep := wait(t, submit(t, r, spec(a), numbers(250)))
	wantCounts(t, rep, 249, 1, 0)
	if row := rowOf(t, rep, id(37)); row.State != "failed" || row.Code != "http_5xx" {
		t.Errorf("poisonous item = %+v, want failed as http_5xx", row)
	}
}
