package assembly_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// does is an action that does nothing, and can take it back or not.
func does(name string, undo bool) weir.Step {
	a := weir.Action[json.RawMessage, json.RawMessage]{Name: name, Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
		b.DoneRest()
		return nil
	}}
	if undo {
		a.Undo = func(_ context.Context, b *weir.Batch[weir.Undone[json.RawMessage, json.RawMessage], struct{}]) error {
			b.DoneRest()
			return nil
		}
	}
	return weir.RawStep(a)
}

func TestWhatWasSkippedNeedsNoWayBack(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{does("award", true), does("send", false)}})
	const sendVIPs = `{"action":"send","when":"item.vip","otherwise":"skip"}`
	for _, tt := range []struct {
		name, steps string
		vips        int
		code        string // of the refusal; empty: it is undone
		problem     string
		items       int64 // that are taken back
	}{
		{"some were sent", `{"action":"award"},` + sendVIPs, 2, "no_undo", "already ran for 2 items", 0},
		{"all were sent", `{"action":"award"},` + sendVIPs, 5, "no_undo", "already ran for 5 items", 0},
		{"none were sent", `{"action":"award"},` + sendVIPs, 0, "", "", 5},
		{"nothing was done", sendVIPs, 0, "no_items", "completed no step", 0},
		{"some were given", `{"action":"award","when":"item.vip","otherwise":"skip"}`, 3, "", "", 3},
		{"what asks for a step that was skipped", `{"id":"a","action":"award","when":"item.vip","otherwise":"skip"},{"id":"b","action":"award","when":"steps.a.done","otherwise":"skip"}`, 1, "", "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rows strings.Builder
			for i := range 5 {
				fmt.Fprintf(&rows, `{"id":"u%d","vip":%v}`+"\n", i, i < tt.vips)
			}
			b := n.Make(`{"steps":[`+tt.steps+`]}`, rows.String())
			n.Until(b.ID, api.Completed)
			if tt.code != "" {
				var p api.Problem
				n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 422, &p)
				if text := fmt.Sprint(p.Detail, p.Errors); p.Code != tt.code || !strings.Contains(text, tt.problem) {
					t.Errorf("%s: %s; want %s and %q", p.Code, text, tt.code, tt.problem)
				}
				return
			}
			var l api.Linked
			n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 201, &l)
			if u := n.Until(l.BulkActions[0].ID, api.Completed); l.Items != tt.items || u.Counts.Done != tt.items {
				t.Errorf("%d items are taken back and %+v, want %d", l.Items, u.Counts, tt.items)
			}
		})
	}
}
