package stored

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
)

// shelf has one block under every number, and counts how often they are read.
type shelf struct {
	Source
	sealed []byte

	mu    sync.Mutex
	reads int
	err   error
	held  map[uint32]chan struct{} // reads of these wait
}

func (s *shelf) GetBlock(_ context.Context, _ int, _ weir.BulkID, no uint32) ([]byte, error) {
	s.mu.Lock()
	s.reads++
	err, held := s.err, s.held[no]
	s.mu.Unlock()
	if held != nil {
		<-held
	}
	return s.sealed, err
}

// newCache makes a cache that holds so many of the shelf's blocks.
func newCache(t *testing.T, blocks int) (*Cache, *shelf) {
	t.Helper()
	codec, err := block.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	var b block.Builder
	b.Add("id", []byte(`{"a":1}`))
	s := &shelf{sealed: codec.Seal(nil, &b), held: map[uint32]chan struct{}{}}
	items, err := codec.Open(s.sealed)
	if err != nil {
		t.Fatal(err)
	}
	return NewCache(s, codec, blocks*items.MemSize()), s
}

func key(no uint32) Key { return Key{"ba_x", no} }

// wantAccounts checks that the cache knows exactly what it holds.
func wantAccounts(t *testing.T, c *Cache, entries int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := 0
	for _, e := range c.entries {
		sum += e.size
	}
	if len(c.entries) != entries || c.order.Len() != entries || c.bytes != sum || sum > c.limit {
		t.Errorf("%d entries, %d in order, %d bytes of %d, counted as %d; want %d entries", len(c.entries), c.order.Len(), sum, c.limit, c.bytes, entries)
	}
}

func TestTheCacheKeepsWhatFitsAndTheOldestGoesFirst(t *testing.T) {
	c, s := newCache(t, 3)
	for no := range uint32(10) {
		if _, err := c.Open(t.Context(), 0, c.Entry(key(no))); err != nil {
			t.Fatal(err)
		}
	}
	wantAccounts(t, c, 3)
	for _, no := range []uint32{7, 8, 9} {
		_, _ = c.Open(t.Context(), 0, c.Entry(key(no)))
	}
	if s.reads != 10 {
		t.Errorf("%d reads, want one of each block", s.reads)
	}
}

func TestBlocksThatCannotBeOpenedLeaveNothingInTheCache(t *testing.T) {
	c, s := newCache(t, 3)
	s.err = errors.New("away")
	for range 100 {
		e := c.Entry(key(1))
		if _, err := c.Open(t.Context(), 0, e); !errors.Is(err, s.err) || !e.broken.Load() {
			t.Fatalf("error = %v, broken %v; want the store's, and an entry that says so", err, e.broken.Load())
		}
	}
	wantAccounts(t, c, 0)
}

func TestABlockOpenedLateIsAccountedForAndCanStillBeEvicted(t *testing.T) {
	c, s := newCache(t, 2)
	s.held[0] = make(chan struct{})
	slow := make(chan error)
	first := c.Entry(key(0))
	go func() {
		_, err := c.Open(t.Context(), 0, first)
		slow <- err
	}()
	for no := uint32(1); no < 6; no++ { // push it out while it is being opened
		_, _ = c.Open(t.Context(), 0, c.Entry(key(no)))
	}
	close(s.held[0])
	if err := <-slow; err != nil {
		t.Fatal(err)
	}
	wantAccounts(t, c, 2)
	for no := uint32(6); no < 9; no++ {
		_, _ = c.Open(t.Context(), 0, c.Entry(key(no)))
	}
	wantAccounts(t, c, 2)
	if c.entries[key(0)] != nil {
		t.Error("the first block is never evicted")
	}
}

func TestBlocksThatCameWithAMessageAreNotReadAndMakeRoomLikeOthers(t *testing.T) {
	c, s := newCache(t, 3)
	c.Put(key(0), s.sealed)
	early := c.Entry(key(0))
	for no := range uint32(50) {
		c.Put(key(no), s.sealed)
	}
	if _, err := c.Open(t.Context(), 0, early); err != nil || s.reads != 0 {
		t.Fatalf("error = %v after %d reads, want what was put in, also after it made room", err, s.reads)
	}
	if c.entries[key(0)] != nil || c.entries[key(49)] == nil {
		t.Error("the oldest is kept, or the newest is not")
	}
	for no := uint32(47); no < 50; no++ {
		if _, err := c.Open(t.Context(), 0, c.Entry(key(no))); err != nil {
			t.Fatal(err)
		}
	}
	if s.reads != 0 {
		t.Errorf("%d reads, want none", s.reads)
	}
	wantAccounts(t, c, 3)
}
