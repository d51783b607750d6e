package pebblestore

import (
	"sync"

	"github.com/weirhq/weir/store"
)

// gate counts the calls that are inside the store, so that Close can wait for
// them: Pebble must not be used while it closes. A call may go in again from
// inside (a Get while scanning), which is why this is no RWMutex.
type gate struct {
	mu     sync.Mutex
	inside int
	shut   chan struct{} // closed when no new calls are let in
	empty  chan struct{} // closed when the last has left, after that
}

func newGate() *gate {
	return &gate{shut: make(chan struct{}), empty: make(chan struct{})}
}

func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isShut() {
		return store.ErrClosed
	}
	g.inside++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.inside == 0 && g.isShut() {
		close(g.empty)
	}
}

// close lets nobody in any more. It reports whether it was the first to do so.
func (g *gate) close() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isShut() {
		return false
	}
	close(g.shut)
	if g.inside == 0 {
		close(g.empty)
	}
	return true
}

func (g *gate) isShut() bool {
	select {
	case <-g.shut:
		return true
	default:
		return false
	}
}
