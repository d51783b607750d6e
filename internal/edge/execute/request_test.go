package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// recorder keeps the last call and answers that all is done.
type recorder struct {
	header http.Header
	path   string
	body   string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	b, _ := io.ReadAll(req.Body)
	r.header, r.path, r.body = req.Header, req.RequestURI, string(b)
	_, _ = w.Write([]byte(`{"default":"done"}`))
}

func TestRequestIsWrittenAsDocumented(t *testing.T) {
	rec := &recorder{}
	r := serve(t, rec.ServeHTTP, func(s *weir.Step) { s.Endpoint.Header = map[string]string{"x-team": "growth"} })
	task := newTask(2)
	task.Deadline = time.Date(2026, 3, 1, 13, 0, 30, 5e8, time.FixedZone("", 3600))
	task.Items[0].Data = []byte(`{ "n": 9007199254740993, "t":"\u00e9" }`)
	task.Items[1].ID = "a\"b\\c\n\x7fé"
	task.Items[1].Previous = []byte(`{"reward_id":"r9"}`)
	if err := run(t, r, task); err != nil {
		t.Fatal(err)
	}
	const want = `{"task":"tsk_7","action":"award-reward","bulk_action":"ba_01k9x","step":"award","attempt":2,"dry_run":false,` +
		`"deadline":"2026-03-01T12:00:30.5Z","items":[` +
		`{"id":"u1","idempotency_key":"ba_01k9x.1.40","data":{ "n": 9007199254740993, "t":"\u00e9" }},` +
		`{"id":"a\"b\\c\n` + "\x7f" + `é","idempotency_key":"ba_01k9x.1.41","data":{"n":2},"previous":{"reward_id":"r9"}}]}`
	if rec.body != want {
		t.Errorf("body =\n%s\nwant\n%s", rec.body, want)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "X-Team": "growth", "Content-Length": fmt.Sprint(len(want)),
		"Idempotency-Key": "", "Accept-Encoding": "", HeaderSignature: "",
	} {
		if got := rec.header.Get(name); got != want {
			t.Errorf("header %s = %q, want %q", name, got, want)
		}
	}
	if rec.path != "/award" {
		t.Errorf("path = %q, want /award: ids do not belong there", rec.path)
	}
}

func TestKeysInTheRequestAreThoseOfTheTask(t *testing.T) {
	task := newTask(50)
	task.Bulk, task.StepNo = `ba_"odd"`, 15
	task.Items[7].No = 1 << 60
	for attempt := range 3 {
		task.Attempt = attempt + 1
		req := newRequest(context.Background(), task, nil)
		var got struct {
			Items []struct {
				Key string `json:"idempotency_key"`
			}
		}
		if err := json.Unmarshal(req.body, &got); err != nil {
			t.Fatal(err)
		}
		for i := range got.Items {
			if got, want := got.Items[i].Key, task.Key(i); got != want {
				t.Errorf("attempt %d: key of item %d = %q, want %q", attempt+1, i, got, want)
			}
		}
	}
}

func TestInputOfTheStepIsSent(t *testing.T) {
	rec := &recorder{}
	r := serve(t, rec.ServeHTTP, func(s *weir.Step) {
		s.Input = func(it *weir.TaskItem) ([]byte, error) {
			if it.ID == "u1" || it.ID == "u3" {
				return nil, errors.New("cannot decode item")
			}
			return []byte(`{"to":"` + it.ID + `"}`), nil
		}
	})
	task := newTask(4)
	if err := run(t, r, task); err != nil {
		t.Fatal(err)
	}
	if want := `"items":[{"id":"u2","idempotency_key":"ba_01k9x.1.41","data":{"to":"u2"}},{"id":"u4","idempotency_key":"ba_01k9x.1.43","data":{"to":"u4"}}]}`; !strings.HasSuffix(rec.body, want) {
		t.Errorf("body = %s, want it to end in %s", rec.body, want)
	}
	if got, want := kinds(task), "failed done failed done "; got != want {
		t.Errorf("outcomes = %s, want %s", got, want)
	}
	if o := task.Outcomes[2]; o.Code != "bad_item" || o.Message != "cannot decode item" {
		t.Errorf("outcome of u3 = %+v, want bad_item with the cause", o)
	}
}

func TestNoCallIsMadeWithoutItems(t *testing.T) {
	r := serve(t, say(500, ""), func(s *weir.Step) {
		s.Input = func(*weir.TaskItem) ([]byte, error) { return nil, errors.New("no") }
	})
	task := newTask(2)
	if err := run(t, r, task); err != nil || kinds(task) != "failed failed " || r.counters.Calls.Load() != 0 {
		t.Errorf("call = %v, outcomes %s, %d calls; want nil, failed, 0", err, kinds(task), r.counters.Calls.Load())
	}
}

func TestItemThatIsNotUTF8Fails(t *testing.T) {
	rec := &recorder{}
	task := newTask(3)
	task.Items[1].ID, task.Items[2].Data = "u\xff", nil
	if err := run(t, serve(t, rec.ServeHTTP, nil), task); err != nil {
		t.Fatal(err)
	}
	if got, want := kinds(task), "done failed done "; got != want || !json.Valid([]byte(rec.body)) {
		t.Errorf("outcomes = %s, want %s; body %s", got, want, rec.body)
	}
}

func TestSameIDTwiceInARequestIsMatchedInOrder(t *testing.T) {
	task := newTask(3)
	task.Items[2].ID = "u1"
	body := `{"results":[{"id":"u2","status":"done"},{"id":"u1","status":"failed","code":"first"},{"id":"u1","status":"failed","code":"second"}]}`
	if err := run(t, serve(t, say(200, body), nil), task); err != nil {
		t.Fatal(err)
	}
	if a, b := task.Outcomes[0].Code, task.Outcomes[2].Code; a != "first" || b != "second" {
		t.Errorf("codes = %s, %s; want first, second", a, b)
	}
}

func TestTaskWithoutIDGetsOneOfItsItems(t *testing.T) {
	id := func(change func(*weir.Task)) string {
		task := newTask(3)
		task.ID = ""
		change(task)
		return newRequest(context.Background(), task, nil).id
	}
	first := id(func(*weir.Task) {})
	if again := id(func(t *weir.Task) { t.Attempt = 7 }); again != first || !strings.HasPrefix(first, "tsk_01k9x.1.") {
		t.Errorf("ids of two attempts = %q, %q; want the same", first, again)
	}
	for name, change := range map[string]func(*weir.Task){
		"other items":       func(t *weir.Task) { t.Items[1].No = 99 },
		"fewer items":       func(t *weir.Task) { t.Items = t.Items[:2] },
		"other step":        func(t *weir.Task) { t.StepNo = 2 },
		"other bulk action": func(t *weir.Task) { t.Bulk = "ba_2" },
	} {
		if other := id(change); other == first {
			t.Errorf("%s: id is %q as well", name, other)
		}
	}
}
