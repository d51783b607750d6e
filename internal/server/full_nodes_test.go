package server_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// filling is a store that is full from the first items on, also for records that are there.
type filling struct {
	store.Store
	nearly, full atomic.Bool
}

// Shared implements store.Sharing.
func (*filling) Shared() bool { return true }

func (s *filling) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	if s.nearly.Load() {
		s.full.Store(true)
	}
	if s.full.Load() {
		return store.ErrFull
	}
	return s.Store.PutBlocks(ctx, partition, id, first, blocks)
}

func (s *filling) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	if strings.HasPrefix(name, "answer/") && s.full.Load() {
		return nil, store.ErrFull
	}
	return s.Store.Swap(ctx, name, old, value)
}

// While the store is full, all nodes say so to each repeat of a request: none says
// that the try of another, which could not note its end, is under way.
func TestAFullStoreIsToldByAllNodes(t *testing.T) {
	const body = `{"steps":[{"action":"award"}],"start":true,"items":[{"id":"u1"}]}`
	m := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = m.Close() })
	s := &filling{Store: m}
	o := nodetest.Options{Steps: []weir.Step{raw("award", award)}, Store: s}
	a, b := nodetest.Start(t, o), nodetest.Start(t, o)
	for _, n := range []*nodetest.Node{a, b} {
		n.Eventually("the node is ready", func() bool {
			resp := n.Request(t.Context(), "GET", "/readyz", "", nil)
			return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
		})
	}
	key := http.Header{"Idempotency-Key": {"one"}}
	s.nearly.Store(true)
	for _, n := range []*nodetest.Node{a, b, a, b} {
		var p api.Problem
		n.CallWith("POST", "/v1/bulk-actions", body, key, 507, &p)
		if p.Code != "storage_low" {
			t.Errorf("code %q, want storage_low", p.Code)
		}
	}
	s.nearly.Store(false)
	s.full.Store(false)
	b.Eventually("the request is done", func() bool {
		resp := b.Request(t.Context(), "POST", "/v1/bulk-actions", body, key)
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusCreated
	})
	var all api.Page[api.BulkAction]
	b.Call("GET", "/v1/bulk-actions", "", 200, &all)
	if len(all.Data) != 1 {
		t.Errorf("one key made %d bulk actions", len(all.Data))
	}
}
