package pebblestore

import (
	"sync"
	"time"

	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/internal/inprocess"
)

// registry counts the changes of lasting records.
type registry struct {
	mu      sync.Mutex
	writing map[string]int // writes, by name of the lasting record, that are visible but not durable yet
}

// newNodes is called when the directory is locked: no other process uses any limit from then on.
// Times start with the store, so that changes of the clock have no effect. The first window
// belongs to what an earlier process may have used.
func (s *Store) newNodes() *nodes {
	began := time.Now()
	return inprocess.New(inprocess.Config{
		Enter: s.enter, Leave: s.gate.leave, Now: func() int64 { return int64(time.Since(began)) },
		Forgotten: func(l store.Limit) int64 { return int64(l.Window) },
	})
}
