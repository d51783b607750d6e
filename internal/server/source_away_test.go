package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// A source that does not answer is named with its reason, for as long as it does not.
func TestASourceThatIsAwayIsNamed(t *testing.T) {
	var up atomic.Bool
	url := downstream(t, func(*http.Request, []byte) (int, string) {
		if !up.Load() {
			return http.StatusServiceUnavailable, "maintenance"
		}
		return http.StatusOK, `{"items":[{"id":"a"},{"id":"b"}]}`
	})
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"award"}],"source":{"segment":{"url":%q}},"start":true}`, url), 201, &b)
	var p api.Progress
	n.Eventually("the source is named", func() bool {
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/progress", "", 200, &p)
		return p.State == api.Importing && strings.Contains(p.Reason, "503") && len(p.WaitingOn) == 1 && p.WaitingOn[0].Reason == "source"
	})
	up.Store(true)
	n.Until(b.ID, api.Completed)
	n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &b)
	if b.Reason != "" || b.Counts.Done != 2 {
		t.Errorf("in the end: reason %q, %+v; want none, and 2 done", b.Reason, b.Counts)
	}
}
