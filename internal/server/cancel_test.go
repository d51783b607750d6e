package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// underWay is a bulk action of which a task of ten items hangs at the gate.
func underWay(t *testing.T, items int) (*nodetest.Node, *gate, api.BulkAction, string) {
	t.Helper()
	gate := newGate()
	ten := gate.step("award")
	ten.BatchSize = 10
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{ten}})
	t.Cleanup(gate.open) // before the node stops, which waits for its tasks
	b := n.Make(`{"concurrency":1,"steps":[{"action":"award"}]}`, rows(items, func(i int) string { return fmt.Sprintf(`{"id":"u%d","bad":%v}`, i, i == 0) }))
	gate.reached()
	return n, gate, b, "/v1/bulk-actions/" + b.ID
}

func TestWhatIsCancelledIsCancellingUntilItsTasksHaveEnded(t *testing.T) {
	n, gate, b, path := underWay(t, 50)
	from, _ := follow(t, n, b.ID, "")
	var first, second api.BulkAction
	n.Call("POST", path+"/cancel", `{"reason":"wrong list"}`, 200, &first)
	n.Call("POST", path+"/cancel", `{}`, 200, &second)
	for _, now := range []api.BulkAction{first, second} {
		if now.State != api.Cancelling || now.State.Final() || now.Reason != "wrong list" || now.Counts.InFlight != 10 || now.Counts.Cancelled != 40 || !now.FinishedAt.IsZero() {
			t.Errorf("cancelled while a task runs it is %+v", now)
		}
	}
	var page api.Page[api.BulkAction]
	n.Call("GET", "/v1/bulk-actions?state=cancelling", "", 200, &page)
	if len(page.Data) != 1 || page.Data[0].ID != b.ID {
		t.Errorf("cancelling are %+v", page.Data)
	}
	notOverYet(t, n, path)
	gate.open()
	end := n.Until(b.ID, api.Cancelled)
	if want := (api.Counts{Total: 50, Done: 9, Failed: 1, Cancelled: 40}); end.Counts != want || end.FinishedAt.IsZero() || end.Reason != "wrong list" {
		t.Errorf("in the end it is %+v, want %+v", end, want)
	}
	var states []string
	var last api.Progress
	for e := range from {
		switch e.kind {
		case "state":
			states = append(states, e.data)
		case "progress":
			last = progressOf(t, e)
		}
	}
	if text := strings.Join(states, " "); !strings.Contains(text, `"cancelling"`) || strings.Index(text, `"cancelling"`) > strings.Index(text, `"cancelled"`) || last.Counts != end.Counts {
		t.Errorf("the stream told %s and ended with %+v", text, last)
	}
	n.Call("POST", path+"/cancel", `{}`, 200, &second)
	if second.State != api.Cancelled || second.Counts != end.Counts {
		t.Errorf("cancelled once more it is %+v", second)
	}
}

// notOverYet asks for what can be had of the end alone, and for what is too late.
func notOverYet(t *testing.T, n *nodetest.Node, path string) {
	t.Helper()
	for _, ask := range []string{"undo", "retry", "pause", "resume", "approve"} {
		var p api.Problem
		n.Call("POST", path+"/"+ask, `{}`, 409, &p)
		if p.Code != "wrong_state" || !strings.Contains(p.Detail, "is cancelling") {
			t.Errorf("%s of what is being cancelled: %+v", ask, p)
		}
	}
	n.Call("PATCH", path, `{"priority":7}`, 409, nil)
	var r api.Report
	n.Call("GET", path+"/report", "", 200, &r)
	var p api.Progress
	n.Call("GET", path+"/progress", "", 200, &p)
	if r.State != api.Cancelling || r.Outcome != "" || p.State != api.Cancelling || len(p.WaitingOn) != 1 || p.WaitingOn[0].Reason != "cancelling" {
		t.Errorf("report %+v, progress %+v: want both cancelling", r, p)
	}
}

func TestACancelThatFindsNothingInFlightAnswersWithItsEnd(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{newGate().step("award")}})
	soon := time.Now().AddDate(0, 1, 0).UTC().Format(time.RFC3339)
	for name, spec := range map[string]string{
		"sealed":    `{"steps":[{"action":"award"}],"items":[{"id":"u1"},{"id":"u2"}]}`,
		"scheduled": `{"steps":[{"action":"award"}],"items":[{"id":"u1"},{"id":"u2"}],"start_at":"` + soon + `"}`,
		"draft":     `{"steps":[{"action":"award"}]}`,
	} {
		var b, now api.BulkAction
		n.Call("POST", "/v1/bulk-actions", spec, 201, &b)
		if string(b.State) != name {
			t.Fatalf("made as %s, want %s", b.State, name)
		}
		n.Call("POST", "/v1/bulk-actions/"+b.ID+"/cancel", `{}`, 200, &now)
		if now.State != api.Cancelled || now.Counts.Cancelled != now.Counts.Total {
			t.Errorf("%s: cancelled it is %+v", name, now)
		}
	}
}

func TestADeadlineEndsTheRestAndLetsRunWhatRuns(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	t.Cleanup(gate.open)
	b := n.Make(fmt.Sprintf(`{"canary":{"items":1},"deadline":%q,"steps":[{"action":"award"}]}`, time.Now().Add(500*time.Millisecond).UTC().Format(time.RFC3339Nano)),
		`{"id":"u1"}`+"\n"+`{"id":"u2"}`)
	if now := n.Until(b.ID, api.Cancelling); now.Counts.InFlight != 1 || now.Counts.Cancelled != 1 {
		t.Errorf("after its deadline it is %+v", now)
	}
	gate.open()
	if end := n.Until(b.ID, api.Completed); end.Counts.Done != 1 || end.Counts.Cancelled != 1 || end.Outcome != "some_cancelled" {
		t.Errorf("in the end it is %+v", end)
	}
}

func TestACancelThatLeavesNothingToCancelEndsAsCompleted(t *testing.T) {
	n, gate, b, path := underWay(t, 10) // all of them are on their way
	var now api.BulkAction
	n.Call("POST", path+"/cancel", `{}`, 200, &now)
	if now.State != api.Cancelling || now.Counts.InFlight != 10 {
		t.Errorf("cancelled while all of it runs it is %+v", now)
	}
	gate.open()
	if end := n.Until(b.ID, api.Completed); end.Counts.Done != 9 || end.Counts.Failed != 1 || end.Outcome != "some_failed" {
		t.Errorf("in the end it is %+v", end)
	}
	n.Call("POST", path+"/cancel", `{}`, 409, nil)
}
