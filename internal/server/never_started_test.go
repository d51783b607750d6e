package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// TestWhatEndedBeforeItsStartHasNoStart: whether a person or its deadline ended it.
func TestWhatEndedBeforeItsStartHasNoStart(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}})
	newBulk := func(more string) (b api.BulkAction) {
		n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"items":[{"id":"a","data":{}}]`+more+`}`, 201, &b)
		return b
	}
	later := time.Now().Add(time.Hour).Format(time.RFC3339)
	held, scheduled := newBulk(""), newBulk(fmt.Sprintf(`,"start_at":%q`, later))
	for _, b := range []api.BulkAction{held, scheduled} {
		n.Call("POST", "/v1/bulk-actions/"+b.ID+"/cancel", `{}`, 200, nil)
	}
	late := newBulk(fmt.Sprintf(`,"deadline":%q`, time.Now().Add(500*time.Millisecond).Format(time.RFC3339Nano)))
	for _, b := range []api.BulkAction{held, scheduled, late} {
		n.Eventually("it has ended", func() bool {
			n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &b)
			return b.State.Final()
		})
		var rep api.Report
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/report", "", 200, &rep)
		if !b.StartedAt.IsZero() || !rep.StartedAt.IsZero() || rep.Duration != 0 || b.Counts.Cancelled != 1 {
			t.Errorf("%s (%s) started at %v, by its report at %v for %v; %+v", b.State, b.Reason, b.StartedAt, rep.StartedAt, rep.Duration, b.Counts)
		}
	}
}
