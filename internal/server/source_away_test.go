package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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

// What waits for a source that cannot be reached answers why, at the field that names the source.
func TestAnUnreachableSourceIsAProblemOfItsField(t *testing.T) {
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"award"}],"source":{"segment":{"url":%q}}}`, away.URL), 201, &b)
	at := "/v1/bulk-actions/" + b.ID
	for _, call := range [][2]string{{"GET", "/check"}, {"POST", "/trial"}} {
		var p api.Problem
		n.Call(call[0], at+call[1], "", 422, &p)
		if len(p.Errors) != 1 || p.Code != "source_unavailable" || p.Errors[0].Field != "source.segment.url" || !strings.Contains(p.Detail, "the connection was refused") || p.Fix == "" {
			t.Errorf("%s: %+v", call[1], p)
		}
	}
	var shown api.Preview
	n.Call("GET", at+"/preview", "", 200, &shown)
	if len(shown.Faults) != 1 || shown.Faults[0].Code != "source_unavailable" || shown.Faults[0].Field != "source.segment.url" {
		t.Errorf("preview: %+v", shown)
	}
}
