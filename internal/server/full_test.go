package server_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/storetest"
)

// A create that finds the store full, at whichever of its writes, leaves nothing
// behind, and the same request works as soon as there is room.
func TestACreateThatFindsTheStoreFullLeavesNothing(t *testing.T) {
	const body = `{"steps":[{"action":"award"}],"start":true,"items":[{"id":"u1"}]}`
	for _, op := range []storetest.Op{storetest.OpPutBlocks, storetest.OpAppend} {
		t.Run(string(op), func(t *testing.T) {
			var full atomic.Bool
			m := memstore.New(memstore.Options{})
			t.Cleanup(func() { _ = m.Close() })
			n := nodetest.Start(t, nodetest.Options{
				Steps: []weir.Step{raw("award", award)},
				Store: &storetest.Flaky{Store: m, Fail: func(c storetest.Call) storetest.Fault {
					if c.Op == op && full.Load() {
						return storetest.Fault{Before: store.ErrFull}
					}
					return storetest.Fault{}
				}},
			})
			full.Store(true)
			key := http.Header{"Idempotency-Key": {"one"}}
			var p api.Problem
			n.CallWith("POST", "/v1/bulk-actions", body, key, 507, &p)
			if p.Code != "storage_low" {
				t.Errorf("code %q, want storage_low", p.Code)
			}
			var left api.Page[api.BulkAction]
			n.Call("GET", "/v1/bulk-actions", "", 200, &left)
			if len(left.Data) > 0 {
				t.Errorf("it left %+v", left.Data)
			}
			for part := range 2 {
				if ids, err := m.BlockOwners(t.Context(), part); err != nil || len(ids) > 0 {
					t.Errorf("items of %v stay, %v", ids, err)
				}
			}
			full.Store(false)
			var made api.BulkAction
			n.CallWith("POST", "/v1/bulk-actions", body, key, 201, &made)
			n.Until(made.ID, api.Completed)
		})
	}
}
