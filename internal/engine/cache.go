package engine

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/store"
)

// blockCache keeps opened blocks for the tasks that are cut from them one after
// the other. A block is read and opened once, however many ask at once. The
// oldest goes first: tasks walk through blocks in order.
type blockCache struct {
	store store.Blocks
	codec *block.Codec
	limit int // bytes of opened blocks; the newest is kept even if it alone is larger

	mu      sync.Mutex
	entries map[blockKey]*cached
	order   list.List // of every *cached in entries, oldest first
	bytes   int       // of those that are open
}

type blockKey struct {
	id weir.BulkID
	no uint32
}

type cached struct {
	key   blockKey
	place *list.Element // in order
	size  int           // 0 until it is open

	once   sync.Once
	items  *block.Items
	err    error
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
		e = &cached{key: key}
		e.place = c.order.PushBack(e)
		c.entries[key] = e
	}
	return e
}

// open returns the block of an entry, and reads it if it is not in memory.
func (c *blockCache) open(ctx context.Context, partition int, e *cached) (*block.Items, error) {
	e.once.Do(func() {
		e.items, e.err = openBlock(ctx, c.store, c.codec, partition, e.key.id, e.key.no)
		c.settle(e)
	})
	return e.items, e.err
}

// settle accounts for a block that was just opened, and makes room. Those that
// are still being opened take no room yet, and stay.
func (c *blockCache) settle(e *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.err != nil {
		e.broken.Store(true)
		c.remove(e)
		return
	}
	e.size = e.items.MemSize()
	c.bytes += e.size
	for at := c.order.Front(); at != nil && c.bytes > c.limit; {
		old := at.Value.(*cached)
		at = at.Next()
		if old != e && old.size > 0 {
			c.remove(old)
		}
	}
}

func (c *blockCache) remove(e *cached) {
	delete(c.entries, e.key)
	c.order.Remove(e.place)
	c.bytes -= e.size
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
