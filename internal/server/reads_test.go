package server_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// counting counts the reads of bulk actions, and of what was noted of them.
type counting struct {
	store.Store
	reads atomic.Int64
}

func (s *counting) Get(ctx context.Context, partition int, key []byte) ([]byte, error) {
	s.reads.Add(1)
	return s.Store.Get(ctx, partition, key)
}

func (s *counting) GetBlock(ctx context.Context, partition int, id weir.BulkID, no uint32) ([]byte, error) {
	s.reads.Add(1)
	return s.Store.GetBlock(ctx, partition, id, no)
}

func (s *counting) Scan(ctx context.Context, partition int, prefix []byte, yield func(key, value []byte) error) error {
	s.reads.Add(1)
	return s.Store.Scan(ctx, partition, prefix, yield)
}

func (s *counting) Lookup(ctx context.Context, name string) ([]byte, error) {
	if strings.HasPrefix(name, "handled/") {
		s.reads.Add(1)
	}
	return s.Store.Lookup(ctx, name)
}

// Lists read as much as they show: neither a page nor a filter nor a sum over all costs more when there is more that has
// ended, once it was read.
func TestReadsOfListsAreBounded(t *testing.T) {
	m := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = m.Close() })
	s := &counting{Store: m}
	n := nodetest.Start(t, nodetest.Options{Store: s, Steps: []weir.Step{raw("award", func(_ context.Context, b *plainBatch) error {
		for i, it := range b.Items() {
			b.Fail(i, "closed", fmt.Errorf("account of %s is closed", it.ID))
		}
		return nil
	})}})
	const many, slack = 60, 64 // partitions in which something happened are scanned
	add := func() {
		var last api.BulkAction
		for range many {
			n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"start":true,"items":[{"id":"ann"},{"id":"bob"}]}`, 201, &last)
			n.Until(last.ID, api.Completed)
		}
		n.Call("POST", "/v1/bulk-actions/"+last.ID+"/retry", "", 201, nil)
		n.Eventually("the retry has ended", func() bool {
			var left api.Page[api.BulkAction]
			n.Call("GET", "/v1/bulk-actions?state=running", "", 200, &left)
			return len(left.Data) == 0
		})
	}
	cost := func(path string) int64 {
		before := s.reads.Load()
		n.Call("GET", path, "", 200, nil)
		return s.reads.Load() - before
	}
	type costs struct{ groups, filtered, page, items int64 }
	look := func() costs {
		return costs{cost("/v1/dlq/groups"), cost("/v1/bulk-actions?state=paused"), cost("/v1/bulk-actions?limit=10"), cost("/v1/dlq?limit=10")}
	}
	add()
	look()
	once := look()
	add()
	first := look()
	twice := look()
	t.Logf("reads: %+v, then %+v and %+v", once, first, twice)
	if most := int64(4*(many+2) + slack); first.groups > most {
		t.Errorf("the groups cost %d reads, then %d; want four for each bulk action that is new", once.groups, first.groups)
	}
	if twice.groups > once.groups+slack || twice.filtered > once.filtered+slack || twice.page > once.page+slack || twice.items > once.items+slack {
		t.Errorf("reads cost %+v, and with twice as many bulk actions kept %+v; want the same", once, twice)
	}
}
