package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// lossy is a store in memory that nodes use as they use one on another machine. It has lost work of partition 0.
type lossy struct {
	*memstore.Store
	found int64
}

// Done implements store.Witness.
func (*lossy) Done() <-chan struct{} { return nil }

// Incarnation implements store.Witness.
func (*lossy) Incarnation(context.Context, int) (string, error) { return "the only one", nil }

// Shared implements store.Sharing.
func (*lossy) Shared() bool { return true }

func newLossy(t *testing.T, partitions int) *lossy {
	t.Helper()
	s := &lossy{memstore.New(memstore.Options{}), time.Now().UnixNano()}
	t.Cleanup(func() { _ = s.Close() })
	s.note(t, partitions, 0)
	return s
}

// note writes the map of partitions as a node does that has found the loss, or accepted it.
func (s *lossy) note(t *testing.T, partitions int, accepted int64) {
	t.Helper()
	old, err := s.Lookup(t.Context(), "map")
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	raw := fmt.Appendf(nil, `{"format":4,"generation":1,"partitions":%d,"most":%[1]d,"losses":[{"partition":0,"have":3,"acked":9,"found":%d,"accepted":%d}]}`, partitions, s.found, accepted)
	if now, err := s.Swap(t.Context(), "map", old, raw); err != nil || string(now) != string(raw) {
		t.Fatalf("the map is %s, %v", now, err)
	}
}

var stoppedSteps = []weir.Step{raw("award", award)}

const stoppedBody = `{"tenant":%q,"steps":[{"action":"award"}],"start":true,"items":[{"id":"u1"}]}`

func wantCode(t *testing.T, p api.Problem, code string) {
	t.Helper()
	if p.Code != code || p.Fix == "" {
		t.Errorf("the answer is %+v, want %s with what to do", p, code)
	}
}

// An id of a partition that lost work is answered with what is known of the loss.
func TestAnIDThatMayBeLostIsToldSo(t *testing.T) {
	before := nodetest.Start(t, nodetest.Options{Steps: stoppedSteps, Partitions: 1})
	var b api.BulkAction
	before.Call("POST", "/v1/bulk-actions", fmt.Sprintf(stoppedBody, "acme"), 201, &b)
	st := newLossy(t, 2)
	n := nodetest.Start(t, nodetest.Options{Steps: stoppedSteps, Partitions: 2, Store: st})
	var p api.Problem
	n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 503, &p)
	wantCode(t, p, "partition_stopped")
	n.Call("POST", "/v1/items/lookup", `{"id":"u1"}`, 503, &p)
	wantCode(t, p, "partition_stopped")
	var ready string
	n.Call("GET", "/readyz", "", 503, &ready)
	if !strings.Contains(ready, "commits 4 to 9") {
		t.Errorf("/readyz says %s, want it to name the commits", ready)
	}
	st.note(t, 2, time.Now().UnixNano())
	n.Eventually("the node is ready", func() bool {
		resp := n.Request(t.Context(), "GET", "/readyz", "", nil)
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
	n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 410, &p)
	wantCode(t, p, "lost")
}

// While a partition is stopped, creates go to the others. One with an
// Idempotency-Key that the store does not have is refused: it may have been done.
func TestCreatesWhileAPartitionIsStopped(t *testing.T) {
	st := newLossy(t, 2)
	n := nodetest.Start(t, nodetest.Options{Steps: stoppedSteps, Partitions: 2, Store: st})
	var last api.BulkAction
	for i := range 20 {
		n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(stoppedBody, fmt.Sprint("t", i)), 201, &last)
		n.Until(last.ID, api.Completed)
	}
	var list api.Page[api.BulkAction]
	if n.Call("GET", "/v1/bulk-actions", "", 200, &list); !strings.Contains(list.Note, "may be incomplete") {
		t.Errorf("the list's note %q does not say that something may be missing", list.Note)
	}
	key := http.Header{"Idempotency-Key": {"spring"}}
	for range 2 {
		var p api.Problem
		n.CallWith("POST", "/v1/bulk-actions", fmt.Sprintf(stoppedBody, "acme"), key, 503, &p)
		wantCode(t, p, "partition_stopped")
		if !strings.Contains(p.Detail, "idempotency key") {
			t.Errorf("detail %q does not say that it is about the key", p.Detail)
		}
	}
	n.CallWith("POST", "/v1/bulk-actions/"+last.ID+"/undo", "", http.Header{"Idempotency-Key": {"back"}}, 503, nil)
	n.CallWith("POST", "/v1/webhooks", `{"url":"http://127.0.0.1:9/x"}`, http.Header{"Idempotency-Key": {"hook"}}, 503, nil)
	st.note(t, 2, time.Now().UnixNano())
	var made, again api.BulkAction
	n.Eventually("the key can be used", func() bool {
		resp := n.Request(t.Context(), "POST", "/v1/bulk-actions", fmt.Sprintf(stoppedBody, "acme"), key)
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusCreated && json.NewDecoder(resp.Body).Decode(&made) == nil
	})
	n.CallWith("POST", "/v1/bulk-actions", fmt.Sprintf(stoppedBody, "acme"), key, 201, &again)
	if made.ID != again.ID {
		t.Errorf("one key made %s and %s", made.ID, again.ID)
	}
	list = api.Page[api.BulkAction]{}
	if n.Call("GET", "/v1/bulk-actions", "", 200, &list); list.Note != "" {
		t.Errorf("after the loss was accepted, the list's note is %q", list.Note)
	}
}

// When all partitions are stopped, nothing is accepted.
func TestNoCreatesWhenAllPartitionsAreStopped(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: stoppedSteps, Partitions: 1, Store: newLossy(t, 1)})
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(stoppedBody, "acme"), 503, &p)
	wantCode(t, p, "partition_stopped")
}
