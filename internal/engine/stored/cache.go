package stored

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// Cache keeps opened blocks for the tasks that are cut from them one after
// the other. A block is read and opened once, however many ask at once. The
// oldest goes first: tasks walk through blocks in order.
type Cache struct {
	store Source
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
	size  int           // bytes that it holds; 0: it is not open

	sealed []byte // the block, if it came with a message; nil: it is read

	once   sync.Once
	items  *block.Items
	err    error
	broken atomic.Bool
}

// NewCache makes a cache of at most limit bytes of opened blocks.
func NewCache(s Source, c *block.Codec, limit int) *Cache {
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

// Put adds a block that need not be read. It is opened when it is asked for.
func (c *Cache) Put(key Key, sealed []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != nil {
		return
	}
	e := &Entry{key: key, sealed: sealed}
	e.place = c.order.PushBack(e)
	c.entries[key] = e
	c.resize(e, len(sealed))
}

// Open returns the block of an entry, and reads it if it is not in memory.
func (c *Cache) Open(ctx context.Context, partition int, e *Entry) (*block.Items, error) {
	e.once.Do(func() {
		if e.sealed != nil {
			e.items, e.err = open(c.codec, e.key.ID, e.key.No, e.sealed)
		} else {
			e.items, e.err = OpenBlock(ctx, c.store, c.codec, partition, e.key.ID, e.key.No)
		}
		c.settle(e)
	})
	return e.items, e.err
}

// settle accounts for a block that was just opened. Those that are still being read take no room yet, and stay.
func (c *Cache) settle(e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case e.err != nil:
		e.broken.Store(true)
		c.remove(e)
	case c.entries[e.key] == e: // else it was put in, and had to make room before it was asked for
		c.resize(e, e.items.MemSize())
	}
}

// resize notes how much an entry holds, and makes room for it.
func (c *Cache) resize(e *Entry, size int) {
	c.bytes += size - e.size
	e.size = size
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
	if c.entries[e.key] != e {
		return
	}
	delete(c.entries, e.key)
	c.order.Remove(e.place)
	c.bytes -= e.size
}

// OpenItems reads a block of the items of a bulk action, wherever it is: also if it was read with the spec.
func OpenItems(ctx context.Context, s Source, c *block.Codec, p int, of *partition.Created, no uint32) (*block.Items, error) {
	if of.Block != nil && no == 0 {
		return open(c, of.ID, no, of.Block)
	}
	name, at := of.BlockAt(no)
	return OpenBlock(ctx, s, c, p, name, at)
}

// OpenBlock reads one block from the store, by the name and number under which it is stored.
func OpenBlock(ctx context.Context, s Source, c *block.Codec, partition int, id weir.BulkID,
	no uint32) (*block.Items, error) {
	sealed, err := Sealed(ctx, s, partition, id, no)
	if err != nil {
		return nil, fmt.Errorf("block %d of %s: %w", no, id, err)
	}
	return open(c, id, no, sealed)
}

// Sealed returns the bytes of a block, wherever it is.
func Sealed(ctx context.Context, s Source, partition int, id weir.BulkID, no uint32) ([]byte, error) {
	sealed, err := s.GetBlock(ctx, partition, id, no)
	if errors.Is(err, store.ErrNotFound) && no == 0 {
		return inline(ctx, s, partition, id)
	}
	return sealed, err
}

func open(c *block.Codec, id weir.BulkID, no uint32, sealed []byte) (*block.Items, error) {
	items, err := c.Open(sealed)
	if err != nil {
		return nil, fmt.Errorf("block %d of %s: %w: %w", no, id, store.ErrCorrupt, err)
	}
	return items, nil
}

// inline returns the block that came with a bulk action's message, from its row, or from the message if that is not in
// the rows yet. It may become a row between the two looks: hence the third.
func inline(ctx context.Context, s Source, p int, id weir.BulkID) ([]byte, error) {
	rows := At(ctx, s, p)
	sealed, err := partition.ReadInline(rows, id)
	if !errors.Is(err, store.ErrNotFound) {
		return sealed, err
	}
	spec, err := inInbox(ctx, s, p, id)
	if err != nil {
		return nil, err
	}
	if spec != nil && spec.Inline {
		return spec.Block, nil
	}
	return partition.ReadInline(rows, id)
}
