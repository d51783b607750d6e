package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// failsAll is an endpoint that fails every item.
func failsAll(_ *http.Request, _ []byte) (int, string) {
	return 200, `{"default":"failed","code":"closed"}`
}

// TestAStopSaysItsNumbers: whoever reads the reason need not look the rule up.
func TestAStopSaysItsNumbers(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":10}`, downstream(t, failsAll)), 200, nil)
	var rows strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rows, "{\"id\":\"u%d\"}\n", i)
	}
	for rule, want := range map[string]string{
		`{"max_failures":2,"cancel":true}`:                  "failure rule: 10 items failed, more than 2",
		`{"max_failures":-1,"cancel":true}`:                 "failure rule: 10 items failed, more than 0",
		`{"failure_rate":0.07,"min_items":5,"cancel":true}`: "failure rule: 10 of 10 ended items failed, more than 7%",
	} {
		b := n.Make(`{"steps":[{"action":"push"}],"concurrency":1,"stop_on":`+rule+`}`, rows.String())
		if got := n.Until(b.ID, api.Cancelled); got.Reason != want {
			t.Errorf("%s: %q, want %q", rule, got.Reason, want)
		}
	}
}

// TestWhatACallerShouldKnowIsSaid: a rate that makes calls smaller, the states that a command is for, and the step's own name in a trial.
func TestWhatACallerShouldKnowIsSaid(t *testing.T) {
	var sent string
	n := nodetest.Start(t, nodetest.Options{})
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":50}`, downstream(t, func(_ *http.Request, body []byte) (int, string) {
		sent = string(body)
		return 200, `{"default":"done"}`
	})), 200, nil)
	var b, faster api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"id":"notify","action":"push"}],"rates":{"notify":"300/s"},"items":[{"id":"u1"}]}`, 201, &b)
	if want := "at 300/s, calls of notify will carry 15 items instead of the batch of 50"; b.Note != want {
		t.Errorf("note %q, want %q", b.Note, want)
	}
	n.Call("PATCH", "/v1/bulk-actions/"+b.ID, `{"rates":{"notify":"5000/s"}}`, 200, &faster)
	if faster.Note != "" {
		t.Errorf("note %q where whole batches are sent", faster.Note)
	}
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/resume", `{}`, 409, &p)
	if p.Fix != "it must be paused or stopped" {
		t.Errorf("fix %q", p.Fix)
	}
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/trial", `{}`, 200, nil)
	if !strings.Contains(sent, `"step":"notify"`) || !strings.Contains(sent, `"action":"push"`) {
		t.Errorf("the trial sent %s", sent)
	}
}

// TestABulkActionTellsWhatWasMadeOfIt: retries and the undo, in get and report.
func TestABulkActionTellsWhatWasMadeOfIt(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	at := downstream(t, func(r *http.Request, _ []byte) (int, string) {
		if strings.HasSuffix(r.URL.Path, "/undo") {
			return 200, `{"default":"done"}`
		}
		return 200, `{"results":[{"id":"u1","status":"done"},{"id":"u2","status":"failed","code":"closed"}]}`
	})
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"undo_url":%q}`, at, at+"/undo"), 200, nil)
	b := n.Make(`{"steps":[{"action":"push"}]}`, "{\"id\":\"u1\"}\n{\"id\":\"u2\"}\n")
	n.Until(b.ID, api.Completed)
	var again, undo api.Linked
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/retry", `{}`, 201, &again)
	n.Until(again.BulkActions[0].ID, api.Completed)
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/retry", `{}`, 422, &p)
	if want := "every matching failed item of " + b.ID + " was already retried or discarded"; p.Detail != want {
		t.Errorf("a second retry is refused with %q, want %q", p.Detail, want)
	}
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 201, &undo)
	var got api.BulkAction
	var rep api.Report
	n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &got)
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/report", "", 200, &rep)
	retry, back := again.BulkActions[0].ID, undo.BulkActions[0].ID
	if strings.Join(got.Retries, " ") != retry || got.UndoneBy != back {
		t.Errorf("get: retries %v, undone by %s; want %s and %s", got.Retries, got.UndoneBy, retry, back)
	}
	if strings.Join(rep.Retries, " ") != retry || rep.UndoneBy != back {
		t.Errorf("report: retries %v, undone by %s; want %s and %s", rep.Retries, rep.UndoneBy, retry, back)
	}
	n.Call("GET", "/v1/bulk-actions/"+retry+"/report", "", 200, &rep)
	if rep.RetryOf != b.ID {
		t.Errorf("report of the retry: retry of %q", rep.RetryOf)
	}
	n.Call("GET", "/v1/bulk-actions/"+back+"/report", "", 200, &rep)
	if rep.UndoOf != b.ID {
		t.Errorf("report of the undo: undo of %q", rep.UndoOf)
	}
}
