package limits

import (
	"slices"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
)

// Caller is a partition's loop.
type Caller interface {
	// Called has it ask for its next task. It must not block.
	Called()
}

// locked is the capacity of this node behind a lock, since the partitions' loops and
// the keepers of quotas are different goroutines. The goroutine that releases the lock tells
// those for whom something has changed.
type locked struct {
	mu    sync.Mutex
	node  *capacity.Node
	bells map[*capacity.Resource][]chan<- struct{} // the watchers of a resource

	calls []*capacity.Party // reused
	stirs []*capacity.Resource
}

func newLocked(slots int, shared bool, seed uint64) *locked {
	s := &locked{bells: map[*capacity.Resource][]chan<- struct{}{}}
	s.node = capacity.New(capacity.Config{Slots: slots, Shared: shared, Seed: seed, Lock: s})
	return s
}

// Lock implements capacity.Locker.
func (s *locked) Lock() { s.mu.Lock() }

// Unlock implements capacity.Locker. It has the partitions go on for which something
// was picked, and rings for those who watch resources at which something has changed.
func (s *locked) Unlock() {
	if s.node.Called() {
		s.calls = s.node.Calls(s.calls[:0])
		for _, p := range s.calls {
			p.Data.(Caller).Called()
		}
		s.stirs = s.node.Stirred(s.stirs[:0])
		for _, r := range s.stirs {
			for _, bell := range s.bells[r] {
				select {
				case bell <- struct{}{}:
				default: // it has been rung
				}
			}
		}
	}
	s.mu.Unlock()
}

// do calls f with the lock held.
func (s *locked) do(f func(*capacity.Node)) {
	s.Lock()
	defer s.Unlock()
	f(s.node)
}

// watch has the bell rung whenever the keeper of a resource should look at it.
func (s *locked) watch(r weir.Resource, bell chan<- struct{}) *capacity.Resource {
	s.Lock()
	defer s.Unlock()
	res := s.node.Resource(r)
	s.bells[res] = append(s.bells[res], bell)
	return res
}

// unwatch has the bell rung no more.
func (s *locked) unwatch(r *capacity.Resource, bell chan<- struct{}) {
	s.Lock()
	defer s.Unlock()
	s.bells[r] = slices.DeleteFunc(s.bells[r], func(b chan<- struct{}) bool { return b == bell })
}
