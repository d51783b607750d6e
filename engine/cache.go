package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/block"
	"github.com/weirhq/weir/store"
)

// blockCache keeps opened blocks for the tasks that are cut from them one after
// the other. A block is read and opened once, however many ask at once. The
// oldest goes first: tasks walk through blocks in order.
type blockCache struct {
	store store.Blocks
	codec *block.Codec
	limit int

	mu      sync.Mutex
	entries map[blockKey]*cached
	order   []blockKey // oldest first
	bytes   int
}

type blockKey struct {
	id weir.BulkID
	no uint32
}

type cached struct {
	once  sync.Once
	items *block.Items
	err   error
	size  int

	broken atomic.Bool // it could not be opened: ask for another entry
}

func newBlockCache(s store.Blocks, c *block.Codec, limit int) *blockCache {
	return &blockCache{store: s, codec: c, limit: limit, entries: map[blockKey]*cached{}}
}

// entry finds or makes the place of a block, which may not be open yet.
func (c *blockCache) entry(key blockKey) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		e = &cached{}
		c.entries[key] = e
		c.order = append(c.order, key)
	}
	return e
}

// open returns the block of an entry, and reads it if nobody has.
func (c *blockCache) open(ctx context.Context, partition int, key blockKey, e *cached) (*block.Items, error) {
	e.once.Do(func() {
		e.items, e.err = openBlock(ctx, c.store, c.codec, partition, key.id, key.no)
		c.settle(key, e)
	})
	return e.items, e.err
}

// settle accounts for a block that was just opened, and makes room.
func (c *blockCache) settle(key blockKey, e *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.err != nil {
		e.broken.Store(true)
		delete(c.entries, key) // its key in order is skipped when met
		return
	}
	e.size = e.items.MemSize()
	c.bytes += e.size
	for c.bytes > c.limit && len(c.order) > 1 {
		oldest := c.order[0]
		c.order = c.order[1:]
		if old := c.entries[oldest]; old != nil && oldest != key {
			c.bytes -= old.size // 0 while it is still being opened
			delete(c.entries, oldest)
		}
	}
}

// openBlock reads one block from the store.
func openBlock(ctx context.Context, s store.Blocks, c *block.Codec, partition int, id weir.BulkID, no uint32) (*block.Items, error) {
	raw, err := s.GetBlock(ctx, partition, id, no)
	if err != nil {
		return nil, fmt.Errorf("block %d of %s: %w", no, id, err)
	}
	items, err := c.Open(raw)
	if err != nil {
		return nil, fmt.Errorf("block %d of %s: %w: %w", no, id, store.ErrCorrupt, err)
	}
	return items, nil
}
