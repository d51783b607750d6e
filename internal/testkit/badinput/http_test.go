package badinput

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// row is a case over HTTP.
type row struct {
	no     int
	name   string
	ask    ask
	status int
	code   string
	says   string // parts of the message, with | between them
}

// good is the answer to a valid request.
const good = "good"

func TestEveryFaultOfARequestIsAnsweredAsPromised(t *testing.T) {
	w := newWorld(t, nil)
	w.makeBulkActions()
	for _, r := range httpRows() {
		t.Run(fmt.Sprintf("%d %s", r.no, r.name), func(t *testing.T) {
			w.t = t
			before := w.dump()
			got := r.ask(w)
			check(t, &r, &got)
			if after := w.dump(); r.code != good && after != before {
				t.Errorf("something was left behind:\n%s", difference(before, after))
			}
		})
	}
	w.t = t
}

func check(t *testing.T, r *row, got *reply) {
	t.Helper()
	if got.status != r.status || got.problem.Code != r.code && r.code != good && r.code != "" {
		t.Fatalf("answer %d %q, want %d %q: %s", got.status, got.problem.Code, r.status, r.code, got.raw)
	}
	said := got.said()
	if r.code == good {
		said = string(got.raw)
	}
	for part := range strings.SplitSeq(r.says, "|") {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not said:\n%s", part, got.raw)
		}
	}
	if r.code == good || r.code == "" {
		return
	}
	p := &got.problem
	if p.Status != r.status || p.Type != "/problems/"+p.Code || p.Title == "" || p.Detail == "" || p.RequestID == "" || p.RequestID != got.header.Get("Request-Id") {
		t.Errorf("the problem is not complete: %s", got.raw)
	}
	if len(p.Errors) > 20 {
		t.Errorf("%d faults are told, want at most 20", len(p.Errors))
	}
	for _, f := range p.Errors {
		if utf8.RuneCountInString(f.Value) > 64 || f.Message == "" {
			t.Errorf("fault %+v: a value of at most 64 characters and a message are wanted", f)
		}
	}
	if strings.Contains(string(got.raw), planted) {
		t.Errorf("a secret is told back: %s", got.raw)
	}
}

// planted is a secret that requests hold.
const planted = "whsec_cGxhbnRlZC1wbGFudGVkLXBsYW50ZWQtcGxhbnRlZA=="

// difference lists the lines that only one of two texts has.
func difference(before, after string) string {
	var out []string
	had := strings.Split(before, "\n")
	for line := range strings.SplitSeq(after, "\n") {
		if !contains(had, line) {
			out = append(out, "+ "+line)
		}
	}
	have := strings.Split(after, "\n")
	for _, line := range had {
		if !contains(have, line) {
			out = append(out, "- "+line)
		}
	}
	return strings.Join(out, "\n")
}

func contains(lines []string, line string) bool {
	for _, l := range lines {
		if l == line {
			return true
		}
	}
	return false
}

func TestAllFaultsOfARequestAreToldAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	got := w.call("acme", "POST", "/v1/bulk-actions", `{"steps":[{"action":"awrad"},{"action":"nope"}],"start_at":"yesterday","keep_for":"1s","callback":{"url":"ftp://x/","secret":"`+planted+`"}}`)
	var fields []string
	for _, f := range got.problem.Errors {
		fields = append(fields, f.Field+" "+f.Code)
	}
	want := "steps[0].action unknown_action, steps[1].action unknown_action, start_at bad_time, callback.url bad_url, keep_for out_of_range"
	if strings.Join(fields, ", ") != want {
		t.Errorf("faults %s\nwant   %s\n%s", strings.Join(fields, ", "), want, got.raw)
	}
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, `"unknown_%d":1,`, i)
	}
	got = w.call("acme", "POST", "/v1/bulk-actions", `{`+many.String()+`"steps":[{"action":"award"}]}`)
	if len(got.problem.Errors) != 20 || got.status != 400 || got.problem.Code != "unknown_field" {
		t.Errorf("%d faults with status %d %s, want 20 with 400 unknown_field", len(got.problem.Errors), got.status, got.problem.Code)
	}
}
