package pebblestore

import (
	"sync"

	"github.com/weirhq/weir/store"
)

// gate counts the calls inside the store, so that Close can wait for them: Pebble must not be
// used while it closes. A call may enter again from inside (a Get while scanning), so this
// cannot be an RWMutex.
type gate struct {
	mu     sync.Mutex
	inside int
	shut   chan struct{} // closed when no new calls may enter
	empty  chan struct{} // closed when the last call has left, after that
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

// close stops new calls from entering. It reports whether it was the first to do so.
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
