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

// written counts what a request writes to a store. What the owner of the partition commits is not the request's.
type written struct {
	store.Store
	writes, blocks atomic.Int64
	looks          atomic.Int64 // at records of a request
}

func (w *written) Lookup(ctx context.Context, name string) ([]byte, error) {
	if strings.HasPrefix(name, "answer/") || strings.HasPrefix(name, "audit/") || strings.HasPrefix(name, "draft/") {
		w.looks.Add(1)
	}
	return w.Store.Lookup(ctx, name)
}

func (w *written) Append(ctx context.Context, partition int, body []byte, c store.Claim) error {
	if strings.HasPrefix(string(body), `{"created"`) {
		w.writes.Add(1)
	}
	return w.Store.Append(ctx, partition, body, c)
}

func (w *written) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	w.blocks.Add(int64(len(blocks)))
	return w.Store.PutBlocks(ctx, partition, id, first, blocks)
}

func (w *written) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	if strings.HasPrefix(name, "answer/") || strings.HasPrefix(name, "audit/") || strings.HasPrefix(name, "draft/") {
		w.writes.Add(1)
	}
	return w.Store.Swap(ctx, name, old, value)
}

func TestACreateWithItsItemsIsTwoWritesAndFiveWithAKey(t *testing.T) {
	m := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = m.Close() })
	w := &written{Store: m}
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{raw("award", award)}, Store: w})
	const body = `{"steps":[{"action":"award"}],"start":true,"items":[{"id":"u1"}]}`
	for _, tt := range []struct {
		name   string
		header http.Header
		want   int64 // the message and the audit; with a key also its reservation, its id and its answer
	}{
		{"without a key", nil, 2},
		{"with a key", http.Header{"Idempotency-Key": {"one"}}, 5},
	} {
		before := w.writes.Load()
		var made api.BulkAction
		n.CallWith("POST", "/v1/bulk-actions", body, tt.header, 201, &made)
		if got := w.writes.Load() - before; got != tt.want || w.blocks.Load() != 0 {
			t.Errorf("%s: %d writes and %d blocks, want %d and none", tt.name, got, w.blocks.Load(), tt.want)
		}
		n.Until(made.ID, api.Completed)
		if got := w.looks.Load(); got != 0 {
			t.Errorf("%s: %d lookups of records, want none: what is written says what is there", tt.name, got)
		}
	}
}
