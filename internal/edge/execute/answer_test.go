package execute

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirhq/weir"
	"pgregory.net/rapid"
)

func TestAnswerGivesEachItemItsOutcome(t *testing.T) {
	const big = `{"n":9007199254740993, "t":"\u00e9"}`
	for _, tt := range []struct {
		name, body string
		want       []weir.Outcome // for u1, u2, u3
	}{
		{
			"each status has its outcome", `{"results":[{"id":"u1","status":"done","output":{"r":"9"}},
			{"id":"u2","status":"retry","code":"busy","retry_after":"30s"},{"id":"u3","status":"failed","code":"closed","message":"gone"}]}`,
			[]weir.Outcome{
				{Kind: weir.OutcomeDone, Output: []byte(`{"r":"9"}`)},
				{Kind: weir.OutcomeRetry, Code: "busy", After: 30 * time.Second},
				{Kind: weir.OutcomeFailed, Code: "closed", Message: "gone"},
			},
		},
		{
			"output is kept byte for byte", `{"results":[{"id":"u1","status":"done","output":` + big + `}],"default":"done"}`,
			[]weir.Outcome{{Kind: weir.OutcomeDone, Output: []byte(big)}, {Kind: weir.OutcomeDone}, {Kind: weir.OutcomeDone}},
		},
		{
			"order does not matter", `{"results":[{"id":"u3","status":"done"},{"id":"u1","status":"left_out","code":"holdout"},{"id":"u2","status":"failed"}]}`,
			[]weir.Outcome{{Kind: weir.OutcomeLeftOut, Code: "holdout"}, {Kind: weir.OutcomeFailed, Code: "failed"}, {Kind: weir.OutcomeDone}},
		},
		{
			"missing ids have no outcome", `{"results":[{"id":"u2","status":"done"}]}`,
			[]weir.Outcome{{}, {Kind: weir.OutcomeDone}, {}},
		},
		{
			"default alone is an answer", `{"default":"retry"}`,
			slices.Repeat([]weir.Outcome{{Kind: weir.OutcomeRetry}}, 3),
		},
		{"no results and no default set no outcome", `{"results":[]}`, make([]weir.Outcome, 3)},
		{
			"null output is none", `{"results":[{"id":"u1","status":"done","output":null}],"default":"done"}`,
			slices.Repeat([]weir.Outcome{{Kind: weir.OutcomeDone}}, 3),
		},
		{
			"unknown ids are ignored", `{"results":[{"id":"x","status":"nonsense"},{"id":"x","status":"done"},{"id":"u1","status":"done"}]}`,
			[]weir.Outcome{{Kind: weir.OutcomeDone}, {}, {}},
		},
		{
			"fields of its own are ignored", `{"took_ms":3,"results":[{"id":"u1","status":"done","shard":7}]}`,
			[]weir.Outcome{{Kind: weir.OutcomeDone}, {}, {}},
		},
		{
			"retry_after takes seconds and dates", `{"results":[{"id":"u1","status":"retry","retry_after":1.5},
			{"id":"u2","status":"retry","retry_after":"Sun, 01 Mar 2026 12:02:00 GMT"},{"id":"u3","status":"retry","retry_after":"7"}]}`,
			[]weir.Outcome{
				{Kind: weir.OutcomeRetry, After: 1500 * time.Millisecond},
				{Kind: weir.OutcomeRetry, After: 2 * time.Minute},
				{Kind: weir.OutcomeRetry, After: 7 * time.Second},
			},
		},
		{
			"an invalid retry_after leaves the delay to the backoff", `{"results":[{"id":"u1","status":"retry","retry_after":"soon"},
			{"id":"u2","status":"retry","retry_after":null},{"id":"u3","status":"retry","retry_after":1e300}]}`,
			[]weir.Outcome{
				{Kind: weir.OutcomeRetry},
				{Kind: weir.OutcomeRetry},
				{Kind: weir.OutcomeRetry, After: 24 * time.Hour},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			task := newTask(3)
			if err := run(t, serve(t, say(200, tt.body), nil), task); err != nil {
				t.Fatalf("call = %v, want nil", err)
			}
			if diff := cmp.Diff(tt.want, task.Outcomes); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenAnswerChangesNoItem(t *testing.T) {
	const u1done = `{"results":[{"id":"u1","status":"done"}`
	for _, tt := range []struct {
		name, body, want string
	}{
		{"nothing", "", "answered nothing where JSON was expected"},
		{"login page", "\n<!DOCTYPE html><html><head><TITLE>Login\x1b[2J</TITLE>", "answered HTML where JSON was expected: <title>Login"},
		{"page without title", "<html><body>hello", "answered HTML where JSON was expected: <html><body>hello"},
		{"plain text", "OK", `answered no JSON object with "results": OK`},
		{"null", "null", "answered no JSON object"},
		{"array", "[]", "answered no JSON object"},
		{"object of another kind", `{"error":"x"}`, `neither "results" nor "default"`},
		{"cut JSON", u1done, "answer is broken"},
		{"more after the end", u1done + `]} {}`, "answer is broken"},
		{"NaN", u1done + `,{"id":"u2","status":"retry","retry_after":NaN}]}`, "answer is broken"},
		{"bad UTF-8", u1done + `,{"id":"u2","status":"failed","message":"` + "\xff" + `"}]}`, "answer is broken"},
		{"same name twice", u1done + `,{"id":"u2","id":"u3","status":"done"}]}`, "duplicate"},
		{"results of a wrong type", `{"results":{"u1":"done"}}`, "answer is broken"},
		{"status of a wrong type", u1done + `,{"id":"u2","status":1}]}`, "answer is broken"},
		{"id of a wrong type", u1done + `,{"id":2,"status":"done"}]}`, "answer is broken"},
		{"no id", u1done + `,{"status":"done"}]}`, "results[1]: has no id"},
		{"no status", u1done + `,{"id":"u2"}]}`, `results[1], id "u2": status "" is none of`},
		{"unknown status", u1done + `,{"id":"u2","status":"ok"}]}`, `status "ok" is none of`},
		{"unknown default", u1done + `],"default":"ok"}`, `default: status "ok" is none of`},
		{"same id twice in order", u1done + `,{"id":"u1","status":"failed"}]}`, "results[1]: id has a result already"},
		{"same id twice apart", u1done + `,{"id":"u3","status":"done"},{"id":"u3","status":"done"}]}`, "results[2]: id has a result already"},
		{"retry_after of a wrong type", u1done + `,{"id":"u2","status":"retry","retry_after":true}]}`, "retry_after is not a number"},
		{"output too large", u1done + `,{"id":"u2","status":"done","output":"` + strings.Repeat("x", weir.MaxItemBytes) + `"}]}`, "output has 262146 bytes"},
		{"over 8 MiB", u1done + strings.Repeat(" ", 8<<20) + "]}", "larger than 8 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			task := newTask(3)
			err := run(t, serve(t, say(200, tt.body), nil), task)
			var call *CallError
			if !errors.As(err, &call) || call.Code != CodeBadAnswer || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("call = %v, want bad_answer with %q", err, tt.want)
			}
			if strings.ContainsAny(err.Error(), "\x1b\n") || len(err.Error()) > 1024 {
				t.Errorf("error is not fit for a log line: %q", err)
			}
			if got, want := kinds(task), kinds(newTask(3)); got != want {
				t.Errorf("outcomes = %s, want none", got)
			}
		})
	}
}

func TestAnswerJustUnder8MiBIsTaken(t *testing.T) {
	const start, end = `{"results":[`, `],"default":"done"}`
	body := start + strings.Repeat(" ", 8<<20-len(start)-len(end)) + end
	task := newTask(2)
	if err := run(t, serve(t, say(200, body), nil), task); err != nil || kinds(task) != "done done " {
		t.Errorf("call = %v, outcomes %s, want nil and done done", err, kinds(task))
	}
}

func TestUnknownAndMissingIDsAreCounted(t *testing.T) {
	r := serve(t, say(200, `{"results":[{"id":"x","status":"done"},{"id":"u1","status":"done"},{"id":"y","status":"done"}]}`), nil)
	if err := run(t, r, newTask(4)); err != nil {
		t.Fatal(err)
	}
	c := r.counters
	if c.Calls.Load() != 1 || c.UnknownIDs.Load() != 2 || c.MissingIDs.Load() != 3 {
		t.Errorf("calls %d, unknown %d, missing %d; want 1, 2, 3", c.Calls.Load(), c.UnknownIDs.Load(), c.MissingIDs.Load())
	}
}

func TestLongTextsOfAnEndpointAreCut(t *testing.T) {
	long := strings.Repeat("é", 4000)
	task := newTask(1)
	body := `{"results":[{"id":"u1","status":"failed","code":"` + long + `","message":"` + long + `"}]}`
	if err := run(t, serve(t, say(200, body), nil), task); err != nil {
		t.Fatal(err)
	}
	if o := task.Outcomes[0]; len(o.Code) > 70 || len(o.Message) > 1030 || strings.ContainsRune(o.Message, '\ufffd') {
		t.Errorf("code has %d bytes, message %d; want at most 70 and 1030, and valid UTF-8", len(o.Code), len(o.Message))
	}
}

func TestTextsOfAnEndpointGiveNoOrders(t *testing.T) {
	for _, status := range []string{"failed", "retry", "left_out"} {
		task := newTask(1)
		body := `{"results":[{"id":"u1","status":"` + status + `","code":"a\u001b[31m\u202eb","message":"one\ntwo\u009b2J \u2066x\u0000"}]}`
		if err := run(t, serve(t, say(200, body), nil), task); err != nil {
			t.Fatal(err)
		}
		if o := task.Outcomes[0]; o.Code != "a\ufffd[31m\ufffdb" || o.Message != "one two\ufffd2J \ufffdx\ufffd" {
			t.Errorf("%s: code %q, message %q", status, o.Code, o.Message)
		}
	}
	task := newTask(1)
	if err := run(t, serve(t, say(200, `{"results":[{"id":"u1","status":"failed","message":"`+strings.Repeat(`\u0000`, 1000)+`"}]}`), nil), task); err != nil {
		t.Fatal(err)
	}
	if o := task.Outcomes[0]; len(o.Message) > 1030 {
		t.Errorf("the message has %d bytes, want at most 1030", len(o.Message))
	}
}

func TestCutBodyIsABrokenAnswer(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"shorter than promised": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "900")
			_, _ = w.Write([]byte(`{"results":[]}`))
		},
		"chunks without end": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"results":[]}`))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t, serve(t, h, nil), newTask(1))
			if Code(err) != CodeBadAnswer || !strings.Contains(err.Error(), "answer was cut after 14 bytes") {
				t.Errorf("call = %v, want bad_answer: cut after 14 bytes", err)
			}
		})
	}
}

// A result belongs to the first item of its id that has none yet, whatever the
// order of the answer.
func TestMatcherAgreesWithSearching(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		sent := rapid.SliceOfN(id, 1, 8).Draw(t, "sent")
		answer := rapid.OneOf(rapid.Just(sent), rapid.Permutation(sent), rapid.SliceOfN(id, 0, 8)).Draw(t, "answer")
		m, taken := matcher{}, make([]bool, len(sent))
		for i, id := range sent {
			m.items = append(m.items, weir.TaskItem{ID: id})
			m.sent = append(m.sent, int32(i))
		}
		for _, id := range answer {
			want := -1
			for i := range sent {
				if sent[i] == id && !taken[i] {
					want, taken[i] = i, true
					break
				}
			}
			got, err := m.match(id)
			if twice := want < 0 && slices.Contains(sent, id); twice != (err != nil) || err == nil && got != want {
				t.Fatalf("match(%q) = %d, %v; want %d (sent %v, answer %v)", id, got, err, want, sent, answer)
			}
			if err != nil {
				return
			}
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"results":[{"id":"u1","status":"done","output":{"r":1}}],"default":"retry"}`))
	f.Add([]byte(`{"results":[{"id":"u2","status":"retry","retry_after":1e400}]}`))
	f.Add([]byte("<title>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := parse(body)
		if err != nil {
			return
		}
		task, c := newTask(3), &caller{}
		c.setDefaults()
		if c.apply(a, task, []int32{0, 1, 2}) != nil {
			return
		}
		if err := check(task); err != nil {
			t.Errorf("outcomes break the contract: %v", err)
		}
		for _, o := range task.Outcomes {
			if o.After < 0 || o.After > retryMax || len(o.Message) > maxMessage+3 || len(o.Code) > maxCode+3 {
				t.Errorf("outcome out of bounds: %+v", o)
			}
		}
	})
}
