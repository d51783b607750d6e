package server_test

import (
	"net/http"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// appendWith sends items to a bulk action with an Idempotency-Key.
func appendWith(n *nodetest.Node, id, key, contentType, rows string, status int, out any) http.Header {
	h := http.Header{"Idempotency-Key": {key}, "Content-Type": {contentType}}
	return n.CallWith("POST", "/v1/bulk-actions/"+id+"/items", rows, h, status, out)
}

func TestAnAcceptedAppendIsKnownAfterTheSealAndTheEnd(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"item_id":"n"}`, 201, &b)
	bodies := map[string]string{
		"application/x-ndjson": `{"n":"a"}` + "\n" + `{"n":"b"}` + "\n",
		"text/csv":             "n,x\nc,1\nd,2\n",
		"application/json":     `[{"n":"e"},{"n":"f"}]` + "\n\n",
	}
	first := map[string]api.Appended{}
	for kind, rows := range bodies {
		var out api.Appended
		appendWith(n, b.ID, kind, kind, rows, 202, &out)
		first[kind] = out
	}
	again := func(when string) {
		t.Helper()
		for kind, rows := range bodies {
			var out api.Appended
			h := appendWith(n, b.ID, kind, kind, rows, 202, &out)
			if h.Get("Idempotency-Replayed") != "true" || out.Accepted != first[kind].Accepted || out.Total != 6 {
				t.Errorf("%s, %s again: %+v, replayed %q; first %+v", when, kind, out, h.Get("Idempotency-Replayed"), first[kind])
			}
			var p api.Problem
			appendWith(n, b.ID, kind, kind, rows[:len(rows)-1]+" \n", 409, &p)
			if p.Code != "idempotency_conflict" {
				t.Errorf("%s, another body with the key: %+v", when, p)
			}
		}
	}
	again("draft")
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/seal", `{"expected_items":6}`, 200, nil)
	again("sealed")
	var p api.Problem
	appendWith(n, b.ID, "another", "application/x-ndjson", `{"n":"g"}`, 409, &p)
	if p.Code != "sealed" {
		t.Errorf("another append after the seal: %+v, want sealed", p)
	}
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/start", `{}`, 200, nil)
	again("started")
	gate.open()
	if end := n.Until(b.ID, api.Completed); end.Counts.Total != 6 {
		t.Errorf("it has %d items, want 6", end.Counts.Total)
	}
	again("completed")
}
