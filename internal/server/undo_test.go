package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestAChainIsUndoneTheNewestStepFirst(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award"), gate.step("bonus"), gate.step("notify")}})
	gate.fail(func(doc string) (string, string) {
		if strings.Contains(doc, `"text"`) && strings.Contains(doc, "u2") {
			return "offline", "is offline"
		}
		return "", ""
	})
	// u0: no bonus; u1: left out of the message; u2: fails at the message; u3: all of it; u4: fails at once.
	b := n.Make(`{"name":"spring","rates":{"notify":"9000/s"},"steps":[
		{"action":"award","input":{"n":"item.n","bad":"item.bad"}},
		{"action":"bonus","when":"item.n > 0","otherwise":"skip","input":{"of":"steps.award.output.of"}},
		{"action":"notify","when":"item.n != 1","input":{"text":"id"}}]}`,
		rows(5, func(i int) string { return fmt.Sprintf(`{"id":"u%d","n":%d,"bad":%v}`, i, i, i == 4) }))
	done := n.Until(b.ID, api.Completed)
	if c := done.Counts; c.Done != 2 || c.Failed != 2 || c.Cancelled != 1 {
		t.Fatalf("counts %+v", c)
	}
	var l api.Linked
	h := n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{"reason":"wrong list"}`, http.Header{"Idempotency-Key": {"u-1"}}, 201, &l)
	if l.Items != 4 || h.Get("Location") == "" {
		t.Fatalf("undo %+v, want 4 items", l)
	}
	u := n.Until(l.BulkActions[0].ID, api.Completed)
	if u.UndoOf != b.ID || u.Counts.Done != 4 || u.Steps[0].Action != "notify" || u.Steps[2].Action != "award" || u.Rates["undo-notify"] != 9000 {
		t.Errorf("undo %+v", u)
	}
	want := map[string]string{
		"award u0":  `{"bad":false,"n":0} -> {"by":"award","of":"u0"}`,
		"award u1":  `{"bad":false,"n":1} -> {"by":"award","of":"u1"}`,
		"award u2":  `{"bad":false,"n":2} -> {"by":"award","of":"u2"}`,
		"award u3":  `{"bad":false,"n":3} -> {"by":"award","of":"u3"}`,
		"bonus u1":  `{"of":"u1"} -> {"by":"bonus","of":"u1"}`,
		"bonus u2":  `{"of":"u2"} -> {"by":"bonus","of":"u2"}`,
		"bonus u3":  `{"of":"u3"} -> {"by":"bonus","of":"u3"}`,
		"notify u0": `{"text":"u0"} -> {"by":"notify","of":"u0"}`,
		"notify u3": `{"text":"u3"} -> {"by":"notify","of":"u3"}`,
	}
	gate.mu.Lock()
	defer gate.mu.Unlock()
	if len(gate.undone) != len(want) {
		t.Errorf("undone %v", gate.undone)
	}
	for k, v := range want {
		if gate.undone[k] != v {
			t.Errorf("undo of %s was given %s, want %s", k, gate.undone[k], v)
		}
	}
	if last := slices.Index(gate.order, "award"); !slices.Contains(gate.order[:last], "notify") {
		t.Errorf("order %v, want the newest step first", gate.order)
	}
}

func TestItemsThatSkipAStepAreNoAttempts(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award"), gate.step("notify")}})
	b := n.Make(`{"steps":[{"action":"award"},{"action":"notify","when":"item.n > 1","otherwise":"skip"}]}`,
		rows(5, func(i int) string { return fmt.Sprintf(`{"id":"u%d","n":%d}`, i, i) }))
	n.Until(b.ID, api.Completed)
	// as the endpoint was called
	called := func(of map[string]string, action string) (calls int64) {
		gate.mu.Lock()
		defer gate.mu.Unlock()
		for key := range of {
			if strings.HasPrefix(key, action+" ") {
				calls++
			}
		}
		return calls
	}
	check := func(id, first string, of map[string]string) {
		t.Helper()
		var r api.Report
		n.Call("GET", "/v1/bulk-actions/"+id+"/report", "", 200, &r)
		for _, st := range r.Steps {
			calls := called(of, st.Action)
			if st.Attempts != calls || st.Done != 5 || st.Skipped != 5-calls {
				t.Errorf("step %s has %+v, and the endpoint got %d items", st.Step, st.StepProgress, calls)
			}
		}
		var found api.Found
		n.Call("POST", "/v1/items/lookup", `{"id":"u1"}`, 200, &found)
		for _, e := range found.History[0].History {
			if skipped := e.Step == first; skipped != (e.Result == "skipped") || skipped != (e.Attempts == 0) {
				t.Errorf("at step %s u1 is %s after %d attempts", e.Step, e.Result, e.Attempts)
			}
		}
	}
	check(b.ID, "notify", gate.given)
	var page api.Page[api.ItemResult]
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/items", "", 200, &page)
	for i, x := range page.Data {
		want := api.ItemResult{State: "done", Attempts: 1}
		if i < 2 {
			want.Attempts, want.Reason = 0, "skipped"
		}
		if x.State != want.State || x.Attempts != want.Attempts || x.Reason != want.Reason {
			t.Errorf("%s is %s, reason %q, after %d attempts; want %+v", x.ID, x.State, x.Reason, x.Attempts, want)
		}
	}
	var l api.Linked
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 201, &l)
	u := n.Until(l.BulkActions[0].ID, api.Completed)
	check(u.ID, "undo-notify", gate.undone)
}

func TestAnUndoIsDoneOnceAndOnlyWhereThereIsAWayBack(t *testing.T) {
	gate := newGate()
	gate.open()
	forever := gate.step("send")
	forever.Undo = nil
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award"), forever}})
	b := n.Make(`{"steps":[{"action":"award"}]}`, rows(3, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) }))
	n.Until(b.ID, api.Completed)
	var l api.Linked
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 201, &l)
	u := n.Until(l.BulkActions[0].ID, api.Completed)
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 409, &p)
	if p.Code != "exists" || !strings.Contains(p.Detail, u.ID) {
		t.Errorf("a second undo: %+v, want that there is one", p)
	}
	n.Call("POST", "/v1/bulk-actions/"+u.ID+"/undo", `{}`, 409, &p)
	c := n.Make(`{"steps":[{"action":"award"},{"action":"send"}]}`, `{"id":"u1"}`)
	n.Until(c.ID, api.Completed)
	n.Call("POST", "/v1/bulk-actions/"+c.ID+"/undo", `{}`, 422, &p)
	if p.Code != "no_undo" || p.Errors[0].Field != "steps[1].action" {
		t.Errorf("problem %+v, want no_undo at the second step", p)
	}
	gate.fail(func(string) (string, string) { return "closed", "is closed" })
	d := n.Make(`{"steps":[{"action":"award"},{"action":"send"}]}`, `{"id":"u1"}`)
	n.Until(d.ID, api.Completed)
	n.Call("POST", "/v1/bulk-actions/"+d.ID+"/undo", `{}`, 422, &p)
	if p.Code != "no_items" {
		t.Errorf("problem %+v, want that nothing was done", p)
	}
}

func TestAnUndoURLGetsWhatWasGivenAndAnswered(t *testing.T) {
	got := make(chan string, 1)
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Items []struct{ Data json.RawMessage }
		}
		_ = json.NewDecoder(r.Body).Decode(&call)
		if r.URL.Path == "/undo" {
			got <- string(call.Items[0].Data)
			fmt.Fprint(w, `{"default":"done"}`)
			return
		}
		fmt.Fprint(w, `{"results":[{"id":"u1","status":"done","output":{"reward_id":"r9"}}]}`)
	}))
	defer down.Close()
	n := nodetest.Start(t, nodetest.Options{Actions: []api.Action{{Name: "award", URL: down.URL + "/do", UndoURL: down.URL + "/undo"}}})
	b := n.Make(`{"steps":[{"action":"award","input":{"user":"id"}}]}`, `{"id":"u1"}`)
	n.Until(b.ID, api.Completed)
	var l api.Linked
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 201, &l)
	n.Until(l.BulkActions[0].ID, api.Completed)
	if data := <-got; data != `{"data":{"user":"u1"},"output":{"reward_id":"r9"}}` {
		t.Errorf("the undo URL got %s", data)
	}
}

func TestACloneIsADraftWithTheSameSpec(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	b := n.Make(`{"name":"spring","tenant":"growth","tier":"high","steps":[{"id":"give","action":"award","input":{"n":"params.n"}}],"params":{"n":5},"labels":{"a":"b"}}`, `{"id":"u1"}`)
	n.Until(b.ID, api.Completed)
	var c api.BulkAction
	h := n.Call("POST", "/v1/bulk-actions/"+b.ID+"/clone", ``, 201, &c)
	if c.ID == b.ID || c.State != api.Draft || c.Name != "spring" || c.Tenant != "growth" || c.Tier != "high" || c.Steps[0].Input["n"] != "params.n" ||
		string(c.Params) != `{"n":5}` || c.Labels["a"] != "b" || c.Counts.Total != 0 || h.Get("Location") != "/v1/bulk-actions/"+c.ID {
		t.Errorf("clone %+v at %q", c, h.Get("Location"))
	}
}

func TestAGoActionIsUndoneInItsOwnTypes(t *testing.T) {
	type order struct {
		Amount int `json:"amount"`
	}
	type receipt struct {
		Number string `json:"number"`
	}
	got := make(chan weir.Undone[order, receipt], 1)
	a := weir.Action[order, receipt]{
		Name: "pay",
		Handle: func(_ context.Context, b *weir.Batch[order, receipt]) error {
			b.Done(0, receipt{fmt.Sprint("r", b.Item(0).Value.Amount)})
			return nil
		},
		Undo: func(_ context.Context, b *weir.Batch[weir.Undone[order, receipt], struct{}]) error {
			got <- b.Item(0).Value
			b.DoneRest()
			return nil
		},
	}
	n := nodetest.Start(t, nodetest.Options{Steps: weir.Start(a).Steps()})
	b := n.Make(`{"steps":[{"action":"pay"}]}`, `{"id":"u1","amount":7}`)
	n.Until(b.ID, api.Completed)
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 201, nil)
	if u := <-got; u.Input.Amount != 7 || u.Output.Number != "r7" {
		t.Errorf("undo got %+v", u)
	}
}
