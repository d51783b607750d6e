package assembly_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// echo is an action that answers with what it got.
func echo(name string) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: name,
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			for i := range b.Len() {
				if strings.Contains(string(b.Item(i).Value), "bad") {
					b.Fail(i, "is_bad", fmt.Errorf("account %d is bad", i))
					continue
				}
				b.Done(i, b.Item(i).Value)
			}
			return nil
		},
	})
}

// csv and ndjson are the types of bodies with items.
var (
	csv    = http.Header{"Content-Type": {"text/csv"}}
	ndjson = http.Header{"Content-Type": {"application/x-ndjson"}}
)

func start(t *testing.T) *nodetest.Node {
	t.Helper()
	return nodetest.Start(t, nodetest.Options{Steps: []weir.Step{echo("award"), echo("notify")}})
}

func TestADraftIsFilledSealedStartedAndCompleted(t *testing.T) {
	r := start(t)
	var b api.BulkAction
	h := r.Call("POST", "/v1/bulk-actions", `{"name":"spring","steps":[
		{"id":"award","action":"award","input":{"user":"item.user_id","amount":"item.amount"}},
		{"id":"notify","action":"notify","when":"item.amount > 1","input":{"to":"id","text":"'got ' + string(steps.award.output.amount)"}}],"item_id":"user_id"}`, 201, &b)
	if b.State != api.Draft || h.Get("Location") != "/v1/bulk-actions/"+b.ID {
		t.Fatalf("made %+v at %q", b, h.Get("Location"))
	}
	var body bytes.Buffer
	for i := range 2500 {
		fmt.Fprintf(&body, "{\"user_id\":\"u%d\",\"amount\":%d}\n", i, i)
	}
	var a api.Appended
	r.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", body.String(), ndjson, 202, &a)
	r.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", "user_id,amount\nx1,7\nx2,bad\n", csv, 202, &a)
	if a.Total != 2502 {
		t.Fatalf("total = %d, want 2502", a.Total)
	}
	var p api.Problem
	r.Call("POST", "/v1/bulk-actions/"+b.ID+"/seal", `{"expected_items":7}`, 409, &p)
	if p.Code != "count_mismatch" {
		t.Fatalf("problem %+v", p)
	}
	r.Call("POST", "/v1/bulk-actions/"+b.ID+"/seal", `{"expected_items":2502}`, 200, &b)
	if b.State != api.Sealed || b.Counts.Total != 2502 {
		t.Fatalf("sealed %+v", b)
	}
	r.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", "user_id,amount\ny1,7\n", csv, 409, &p)
	r.Call("POST", "/v1/bulk-actions/"+b.ID+"/start", `{}`, 200, &b)
	b = r.Until(b.ID, api.Completed)
	if c := b.Counts; c.Done != 2498 || c.Total != 2502 {
		t.Errorf("counts %+v", c)
	}
}
