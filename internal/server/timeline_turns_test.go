package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// timelineOf reads the kinds of a timeline, the oldest first, and its texts.
func timelineOf(n *nodetest.Node, id string) (kinds []string, texts string) {
	var got api.Events
	n.Call("GET", "/v1/bulk-actions/"+id+"/timeline", "", 200, &got)
	slices.Reverse(got.Data)
	for _, e := range got.Data {
		kinds = append(kinds, e.Kind)
		texts += fmt.Sprintln(e.Text, e.Reason)
	}
	return kinds, texts
}

func TestATimelineTellsWhatTheEngineDidByItself(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":1}`, downstream(t, oddFails)), 200, nil)
	for name, tt := range map[string]struct {
		rules string
		ends  api.State
		kind  string
		texts []string
	}{
		"stopped by its rule":     {`"stop_on":{"max_failures":-1}`, api.Stopped, "stopped", []string{"Stopped by its rule", "failure rule: "}},
		"cancelled by its rule":   {`"stop_on":{"max_failures":-1,"cancel":true}`, api.Cancelled, "rule_cancelled", []string{"Cancelled by its rule"}},
		"a canary waits":          {`"canary":{"items":4}`, api.Awaiting, "canary_ready", []string{"The canary has ended with 2 done and 2 failed; the rest waits"}},
		"a canary passes":         {`"canary":{"items":4,"approve":"auto","success_rate":0.1}`, api.Completed, "canary_passed", []string{"the rest has started"}},
		"its deadline has passed": {`"canary":{"items":4},"deadline":"` + time.Now().Add(2*time.Second).UTC().Format(time.RFC3339) + `"`, api.Completed, "expired", []string{"Its deadline has come"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := n.Make(`{"steps":[{"action":"push"}],"item_id":"id",`+tt.rules+`}`, rowsOf(400))
			n.Until(b.ID, tt.ends)
			kinds, texts := timelineOf(n, b.ID)
			if i := slices.Index(kinds, tt.kind); i < 1 {
				t.Errorf("the timeline is %v, want %s after the start", kinds, tt.kind)
			}
			for _, want := range tt.texts {
				if !strings.Contains(texts, want) {
					t.Errorf("the timeline lacks %q:\n%s", want, texts)
				}
			}
		})
	}
}

func TestABulkActionTellsThatItWasUndone(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	ok := downstream(t, func(*http.Request, []byte) (int, string) { return 200, `{"default":"done"}` })
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"undo_url":%q}`, ok, ok), 200, nil)
	b := n.Make(`{"steps":[{"action":"push"}],"item_id":"id"}`, rowsOf(8))
	n.Until(b.ID, api.Completed)
	var made api.Linked
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 201, &made)
	by := made.BulkActions[0].ID
	n.Until(by, api.Completed)
	n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &b)
	var list api.Page[api.BulkAction]
	n.Call("GET", "/v1/bulk-actions", "", 200, &list)
	i := slices.IndexFunc(list.Data, func(x api.BulkAction) bool { return x.ID == b.ID })
	for where, x := range map[string]api.BulkAction{"itself": b, "the list": list.Data[i]} {
		if want := (api.Undone{State: api.Completed, Items: 8, Done: 8}); x.UndoneBy != by || x.Undone == nil || *x.Undone != want {
			t.Errorf("%s: undone by %q, %+v; want %s, %+v", where, x.UndoneBy, x.Undone, by, want)
		}
	}
	if kinds, _ := timelineOf(n, b.ID); !slices.Contains(kinds, "undo") {
		t.Errorf("the timeline is %v, without the undo", kinds)
	}
}
