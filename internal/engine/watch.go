package engine

import (
	"sync"

	"github.com/weirhq/weir"
)

// watches hands progress to watchers. Progress without a watcher is not kept:
// the store has it.
type watches struct {
	mu     sync.Mutex
	byID   map[weir.BulkID]*watch
	closed bool
}

// watch is the newest progress of one bulk action, and who waits for the next.
type watch struct {
	users   int
	latest  weir.Progress
	known   bool          // latest is set
	changed chan struct{} // closed at the next change
}

func (w *watches) join(id weir.BulkID) *watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = map[weir.BulkID]*watch{}
	}
	x := w.byID[id]
	if x == nil {
		x = &watch{changed: make(chan struct{})}
		w.byID[id] = x
		if w.closed {
			close(x.changed)
		}
	}
	x.users++
	return x
}

func (w *watches) leave(id weir.BulkID, x *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x.users--; x.users == 0 {
		delete(w.byID, id)
	}
}

// get returns the newest progress, if there was any, what to wait on for more, and whether the engine has stopped.
func (w *watches) get(x *watch) (p weir.Progress, known bool, changed <-chan struct{}, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return x.latest, x.known, x.changed, w.closed
}

func (w *watches) publish(p *weir.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.byID[p.ID]
	if x == nil || w.closed {
		return
	}
	x.latest, x.known = *p, true
	close(x.changed)
	x.changed = make(chan struct{})
}

// close wakes all watchers: the engine has stopped and there will be no more.
func (w *watches) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, x := range w.byID {
		close(x.changed)
	}
}
