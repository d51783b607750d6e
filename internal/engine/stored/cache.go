package stored

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

// Cache keeps opened blocks for the tasks that are cut from them one after
// the other. A block is read and opened once, however many ask at once. The
// oldest goes first: tasks walk through blocks in order.
type Cache struct {
	store store.Blocks
	codec *block.Codec
	limit int // bytes of opened blocks; the newest is kept even if it alone is larger

	mu      sync.Mutex
	entries map[Key]*Entry
	order   list.List // of every *Entry in entries, oldest first
	bytes   int       // of those that are open
}

// Key names a block.
type Key struct {
	ID weir.BulkID
	No uint32
}

// Entry is the place of one block in a [Cache], from when it is first asked for.
type Entry struct {
	key   Key
	place *list.Element // in order
	size  int           // 0 until it is open

	once   sync.Once
	items  *block.Items
	err    error
	broken atomic.Bool
}

// NewCache makes a cache of at most limit bytes of opened blocks.
func NewCache(s store.Blocks, c *block.Codec, limit int) *Cache {
	return &Cache{store: s, codec: c, limit: limit, entries: map[Key]*Entry{}}
}

// Entry finds or makes the place of a block, which may not be open yet.
func (c *Cache) Entry(key Key) *Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		e = &Entry{key: key}
		e.place = c.order.PushBack(e)
		c.entries[key] = e
	}
	return e
}

// Open returns the block of an entry, and reads it if it is not in memory.
func (c *Cache) Open(ctx context.Context, partition int, e *Entry) (*block.Items, error) {
	e.once.Do(func() {
		e.items, e.err = OpenBlock(ctx, c.store, c.codec, partition, e.key.ID, e.key.No)
		c.settle(e)
	})
	return e.items, e.err
}

// settle accounts for a block that was just opened, and makes room. Those that
// are still being opened take no room yet, and stay.
func (c *Cache) settle(e *Entry) {
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
		old := at.Value.(*Entry)
		at = at.Next()
		if old != e && old.size > 0 {
			c.remove(old)
		}
	}
}

// Broken reports whether the block could not be opened: ask for another entry.
func (e *Entry) Broken() bool { return e.broken.Load() }

func (c *Cache) remove(e *Entry) {
	delete(c.entries, e.key)
	c.order.Remove(e.place)
	c.bytes -= e.size
}

// OpenBlock reads one block from the store.
func OpenBlock(ctx context.Context, s store.Blocks, c *block.Codec, partition int, id weir.BulkID,
	no uint32) (*block.Items, error) {
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
