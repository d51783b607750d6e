package memstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/internal/inprocess"
)

// Options configures [New]. The zero value works.
type Options struct {
	// Now is the clock of the leases, in nanoseconds since 1970. Default: real time.
	Now func() int64
}

// Store is a [store.Store] in memory.
type Store struct {
	now  func() int64
	done chan struct{} // closed by Close

	mu         sync.RWMutex
	partitions map[int]*partition
	closed     bool

	lives atomic.Uint64 // see Restore

	*nodes
	registry registry
}

// nodes is what nodes announce and share.
type nodes = inprocess.Nodes

var _ store.Store = (*Store)(nil)

// partition holds everything of one partition. Its byte slices never change, so they can be
// read after the lock is released.
type partition struct {
	mu         sync.Mutex
	blocks     map[weir.BulkID]map[uint32][]byte
	inbox      []store.Message // oldest first
	last       uint64          // sequence number of the newest message ever
	wake       chan struct{}   // closed by the next Append; nil while no call waits
	claims     map[string][]byte
	generation uint64 // claims of earlier ones are refused
	rows       map[string][]byte
	keys       []string // of rows, in order, and some that were deleted
	added      []string // keys of rows that are not in keys yet, in no order
	commit     store.Last
	lease      lease
}

// New returns an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixNano() }
	}
	s := &Store{now: o.Now, done: make(chan struct{}), partitions: map[int]*partition{}}
	s.nodes = inprocess.New(inprocess.Config{
		Enter: s.enter, Leave: s.mu.RUnlock, Now: o.Now, Forgotten: func(store.Limit) int64 { return 0 },
	})
	return s
}

// enter starts a call, or returns the reason why it must not continue. A caller that gets nil
// must call s.mu.RUnlock at the end.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return store.ErrClosed
	}
	return nil
}

// Durability returns "memory".
func (s *Store) Durability() string { return "memory" }

// Close closes the store: from then on all calls return [store.ErrClosed], also those that
// wait.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.done)
	return nil
}

// lock returns the partition, locked, or the reason why the call must not continue.
func (s *Store) lock(ctx context.Context, no int) (*partition, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	p := s.partitions[no]
	s.mu.RUnlock()
	if p == nil {
		p = s.add(no)
	}
	p.mu.Lock()
	return p, nil
}

func (s *Store) add(no int) *partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.partitions[no]; p != nil {
		return p // another call was faster
	}
	p := newPartition()
	s.partitions[no] = p
	return p
}

func newPartition() *partition {
	return &partition{
		blocks: map[weir.BulkID]map[uint32][]byte{},
		claims: map[string][]byte{},
		rows:   map[string][]byte{},
	}
}
