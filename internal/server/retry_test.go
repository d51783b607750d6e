package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// byNumber fails items by their member n: two groups of errors at the first step, one at the second.
func byNumber(n int) string {
	switch n % 10 {
	case 0:
		return `"fail":"closed"`
	case 1:
		return `"fail":"busy"`
	}
	return `"ok":1`
}

func failing(doc string) (code, message string) {
	switch {
	case strings.Contains(doc, `"fail":"closed"`):
		return "closed", fmt.Sprintf("account %d is closed", len(doc)*1000)
	case strings.Contains(doc, `"fail":"busy"`):
		return "busy", "try again later"
	}
	return "", ""
}

func failedBulk(t *testing.T, n *nodetest.Node, gate *gate, spec string, items int) api.BulkAction {
	t.Helper()
	gate.fail(failing)
	b := n.Make(spec, rows(items, func(i int) string { return fmt.Sprintf(`{"id":"u%d","n":%d,%s}`, i, i, byNumber(i)) }))
	return n.Until(b.ID, api.Completed)
}

func report(n *nodetest.Node, id string) (r api.Report) {
	n.Call("GET", "/v1/bulk-actions/"+id+"/report", "", 200, &r)
	return r
}

func TestFailedItemsAreTriedAgainAsALinkedBulkAction(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award"), gate.step("notify")}})
	b := failedBulk(t, n, gate, `{"name":"spring","steps":[{"id":"give","action":"award"},{"id":"tell","action":"notify"}],"labels":{"a":"b"}}`, 2000)
	path := "/v1/bulk-actions/" + b.ID
	gate.fail(nil)
	var groups api.ErrorGroups
	n.Call("GET", path+"/error-groups", "", 200, &groups)
	if len(groups.Data) != 2 || groups.Data[0].Count != 200 || groups.Data[1].Count != 200 {
		t.Fatalf("groups %+v, want two of 200", groups)
	}
	closed := groups.Data[slices.IndexFunc(groups.Data, func(g api.ErrorGroup) bool { return g.Code == "closed" })]
	var l api.Linked
	h := n.Call("POST", path+"/retry", fmt.Sprintf(`{"message":%q,"rate":"5000/s"}`, closed.Message), 201, &l)
	if l.Items != 200 || len(l.BulkActions) != 1 || h.Get("Location") != "/v1/bulk-actions/"+l.BulkActions[0].ID {
		t.Fatalf("retried %+v at %q, want 200 items", l, h.Get("Location"))
	}
	again := n.Until(l.BulkActions[0].ID, api.Completed)
	if again.RetryOf != b.ID || again.Counts.Done != 200 || again.Steps[0].ID != "give" || again.Labels["a"] != "b" || again.Rates["give"] != 5000 {
		t.Errorf("retry %+v", again)
	}
	if keys := gate.keysFor("award", "u10"); len(keys) != 2 || keys[0] != keys[1] {
		t.Errorf("keys of u10 = %q, want the same twice", keys)
	}
	var item api.ItemResult
	n.Call("GET", "/v1/items/itm_"+again.ID[3:]+"-1", "", 200, &item)
	if item.ID != "u10" || item.History[0].Key != gate.keysFor("award", "u10")[0] {
		t.Errorf("item %+v, want the key that it had", item)
	}
	r := report(n, b.ID)
	addsUp(t, *r.Combined)
	if !slices.Equal(r.Retries, []string{again.ID}) || r.Combined.Done != 1800 || r.Combined.Failed != 200 || r.Counts.Failed != 400 {
		t.Errorf("retries %v, combined %+v, counts %+v", r.Retries, r.Combined, r.Counts)
	}
	n.Call("POST", path+"/retry", `{"new_keys":true,"filter":"item.n < 100 and code == 'busy'"}`, 201, &l)
	if l.Items != 10 {
		t.Errorf("the filter took %d items, want 10", l.Items)
	}
	n.Until(l.BulkActions[0].ID, api.Completed)
	if keys := gate.keysFor("award", "u11"); len(keys) != 2 || keys[0] == keys[1] {
		t.Errorf("keys of u11 = %q, want two", keys)
	}
	n.Call("POST", path+"/retry", ``, 201, &l)
	if l.Items != 190 {
		t.Errorf("what was left is %d items, want 190", l.Items)
	}
	n.Until(l.BulkActions[0].ID, api.Completed)
	if r := report(n, b.ID); r.Combined.Done != 2000 || r.Combined.Failed != 0 || len(r.Retries) != 3 {
		t.Errorf("combined %+v of %v, want all done", r.Combined, r.Retries)
	}
	var p api.Problem
	n.Call("POST", path+"/retry", `{}`, 422, &p)
	if p.Code != "no_items" {
		t.Errorf("problem %+v, want no_items", p)
	}
}

func TestARetryAtALaterStepKeepsWhatWasAnsweredBefore(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award"), gate.step("notify")}})
	gate.fail(func(doc string) (string, string) {
		if strings.Contains(doc, `"text"`) && strings.Contains(doc, "u3") {
			return "offline", "is offline"
		}
		return "", ""
	})
	b := n.Make(`{"steps":[{"id":"give","action":"award"},{"action":"notify","input":{"text":"steps.give.output.of"}}]}`, rows(5, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) }))
	n.Until(b.ID, api.Completed)
	gate.fail(nil)
	var l api.Linked
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/retry", `{"step":"notify"}`, 201, &l)
	again := n.Until(l.BulkActions[0].ID, api.Completed)
	if again.Counts.Done != 1 || len(gate.keysFor("award", "u3")) != 1 || len(gate.keysFor("notify", "u3")) != 2 {
		t.Errorf("retry %+v; award was called %d times and notify %d times", again.Counts, len(gate.keysFor("award", "u3")), len(gate.keysFor("notify", "u3")))
	}
	gate.mu.Lock()
	defer gate.mu.Unlock()
	if got := gate.given["notify u3"]; got != `{"text":"u3"}` {
		t.Errorf("notify was given %s at the retry, want what it was given first", got)
	}
}

func TestARetryIsMadeOnceForAKey(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	b := failedBulk(t, n, gate, `{"steps":[{"action":"award"}]}`, 100)
	gate.fail(nil)
	var first, second api.Linked
	key := http.Header{"Idempotency-Key": {"again-1"}}
	n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/retry", `{"code":"busy"}`, key, 201, &first)
	h := n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/retry", `{"code":"busy"}`, key, 201, &second)
	if first.BulkActions[0].ID != second.BulkActions[0].ID || h.Get("Idempotency-Replayed") != "true" {
		t.Errorf("retries %+v and %+v, want the same", first, second)
	}
	var p api.Problem
	n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/retry", `{"code":"closed"}`, key, 409, &p)
	if p.Code != "idempotency_conflict" {
		t.Errorf("problem %+v", p)
	}
	// After a crash of the server before it could note its answer, the service is asked again with the same key.
	one, err := n.Service().Results.Retry(t.Context(), b.ID, api.Again{Code: "closed"}, "k")
	if err != nil {
		t.Fatal(err)
	}
	two, err := n.Service().Results.Retry(t.Context(), b.ID, api.Again{Code: "closed"}, "k")
	if err != nil || two.BulkActions[0].ID != one.BulkActions[0].ID {
		t.Errorf("retries %+v and %+v, %v; want the same", one, two, err)
	}
}

func TestARetryIsRefused(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	defer gate.open()
	var draft api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}]}`, 201, &draft)
	runs := n.Make(`{"steps":[{"action":"award"}]}`, `{"id":"u1"}`)
	for _, tt := range []struct {
		name, id, body string
		status         int
		code           string
	}{
		{"a draft", draft.ID, `{}`, 409, "not_sealed"},
		{"one that runs", runs.ID, `{}`, 409, "wrong_state"},
		{"one that is not there", "ba_01k9x2v6w4s8m1c7q3d5f9h0jz", `{}`, 404, "not_found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p api.Problem
			n.Call("POST", "/v1/bulk-actions/"+tt.id+"/retry", tt.body, tt.status, &p)
			if p.Code != tt.code {
				t.Errorf("problem %+v, want %s", p, tt.code)
			}
		})
	}
	gate.open()
	n.Until(runs.ID, api.Completed)
	for body, code := range map[string]string{`{"step":"nope"}`: "unknown_step", `{"filter":"item."}`: "bad_filter", `{}`: "no_items"} {
		resp := n.Request(t.Context(), "POST", "/v1/bulk-actions/"+runs.ID+"/retry", body, nil)
		defer resp.Body.Close()
		var p api.Problem
		read(t, resp, &p)
		if p.Code != code {
			t.Errorf("%s: problem %+v, want %s", body, p, code)
		}
	}
}

func TestWhatADeadlineOrAPersonCancelledIsTriedAgain(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award"), gate.step("notify")}})
	t.Cleanup(gate.open)
	b := n.Make(`{"concurrency":1,"steps":[{"action":"award","when":"item.n != 3"},{"action":"notify"}]}`, rows(40, func(i int) string { return fmt.Sprintf(`{"id":"u%d","n":%d}`, i, i) }))
	path := "/v1/bulk-actions/" + b.ID
	gate.reached()
	n.Call("POST", path+"/cancel", `{}`, 200, nil)
	gate.open()
	end := n.Until(b.ID, api.Cancelled)
	cut := end.Counts.Cancelled - leftOutOf(n, b.ID)
	if cut == 0 || cut == end.Counts.Cancelled {
		t.Fatalf("cancelled it is %+v, want items that were cancelled and one that was left out", end.Counts)
	}
	var p api.Problem
	n.Call("POST", path+"/retry", `{"state":"done"}`, 422, &p)
	n.Call("POST", path+"/retry", `{}`, 422, &p)
	if want := fmt.Sprintf("no item of %s failed; %d were cancelled", b.ID, cut); p.Errors[0].Code != "no_items" || p.Detail != want || !strings.Contains(p.Fix, "--state cancelled") {
		t.Errorf("a retry of failed items where none failed: %+v, want %q", p, want)
	}
	var l api.Linked
	n.Call("POST", path+"/retry", `{"state":"cancelled"}`, 201, &l)
	if l.Items != cut {
		t.Errorf("%d items are tried again, want the %d that were cancelled and not what was left out", l.Items, cut)
	}
	for _, again := range l.BulkActions {
		if got := n.Until(again.ID, api.Completed); got.Outcome != "all_done" || got.RetryOf != b.ID {
			t.Errorf("the retry ended as %+v", got)
		}
	}
	if r := report(n, b.ID); r.Combined.Done != 39 || r.Combined.Cancelled != 1 || r.Combined.Failed != 0 {
		t.Errorf("combined %+v, want all done but the one that was left out", r.Combined)
	}
	n.Call("POST", path+"/retry", `{"state":"cancelled"}`, 422, &p)
}

func leftOutOf(n *nodetest.Node, id string) (sum int64) {
	for _, s := range report(n, id).Steps {
		sum += s.LeftOut
	}
	return sum
}
