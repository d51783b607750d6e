package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestATimelineTellsCommandsFailuresAndTheEnd(t *testing.T) {
	open := make(chan struct{})
	step := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "send", Handle: func(ctx context.Context,
		b *weir.Batch[json.RawMessage, json.RawMessage]) error {
		select {
		case <-open:
		case <-ctx.Done():
			return ctx.Err()
		}
		b.Fail(0, "closed", errors.New("account 17 is closed"))
		return nil
	}})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{step}, Closed: true})
	ana := n.As([]access.Scope{access.Read, access.Submit, access.Control}, "growth")
	made := ana.Make(`{"name":"spring","tenant":"growth","steps":[{"action":"send"}],"start":true}`, `{"id":"u1"}`+"\n")
	ana.Call("POST", "/v1/bulk-actions/"+made.ID+"/pause", `{"reason":"wrong text"}`, 200, nil)
	ana.Call("POST", "/v1/bulk-actions/"+made.ID+"/resume", `{}`, 200, nil)
	close(open)
	ana.Until(made.ID, api.Completed)
	var got api.Events
	ana.Call("GET", "/v1/bulk-actions/"+made.ID+"/timeline", "", 200, &got)
	kinds := []string{}
	for i, e := range got.Data {
		if kinds = append(kinds, e.Kind); i > 0 && e.At.After(got.Data[i-1].At) {
			t.Errorf("%s is not older than what is before it", e.Kind)
		}
		if e.Kind == "pause" && (e.Reason != "wrong text" || e.Actor == "") {
			t.Errorf("the pause is %+v", e)
		}
	}
	if kinds[0] != "completed" || slices.Contains(kinds, "workers") {
		t.Errorf("the timeline has %v, want the end first, and no scaling decisions", kinds)
	}
	for _, kind := range []string{"create", "pause", "resume", "failed", "completed"} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("the timeline has %v, but not %s", kinds, kind)
		}
	}
	n.As([]access.Scope{access.Read}, "crm").Call("GET", "/v1/bulk-actions/"+made.ID+"/timeline", "", 404, nil)
}

func TestADraftHasATimeline(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "send",
		Handle: func(context.Context, *weir.Batch[json.RawMessage, json.RawMessage]) error { return nil }})}})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"name":"spring","steps":[{"action":"send"}]}`, 201, &b)
	var got api.Events
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/timeline", "", 200, &got)
	if len(got.Data) != 1 || got.Data[0].Kind != "create" {
		t.Errorf("the timeline is %+v", got.Data)
	}
}
