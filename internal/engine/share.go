package engine

import (
	"slices"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
)

// share is the capacity of this node behind a lock, since the partitions' loops and
// the keepers of quotas are different goroutines. The goroutine that releases the lock tells
// those for whom something has changed.
type share struct {
	mu    sync.Mutex
	can   *capacity.Node
	bells map[*capacity.Resource][]chan<- struct{} // the watchers of a resource

	calls []*capacity.Party // reused
	stirs []*capacity.Resource
}

func newShare(slots int, shared bool) *share {
	s := &share{bells: map[*capacity.Resource][]chan<- struct{}{}}
	s.can = capacity.New(capacity.Config{Slots: slots, Shared: shared, Seed: randomSeed(), Lock: s})
	return s
}

// Lock implements capacity.Locker.
func (s *share) Lock() { s.mu.Lock() }

// Unlock implements capacity.Locker. It has the partitions go on for which something
// was picked, and rings for those who watch resources at which something has changed.
func (s *share) Unlock() {
	if s.can.Called() {
		s.calls = s.can.Calls(s.calls[:0])
		for _, p := range s.calls {
			p.Data.(*mailbox).put(input{called: true})
		}
		s.stirs = s.can.Stirred(s.stirs[:0])
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
func (s *share) do(f func(*capacity.Node)) {
	s.Lock()
	defer s.Unlock()
	f(s.can)
}

// watch has the bell rung whenever the keeper of a resource should look at it.
func (s *share) watch(r weir.Resource, bell chan<- struct{}) *capacity.Resource {
	s.Lock()
	defer s.Unlock()
	res := s.can.Resource(r)
	s.bells[res] = append(s.bells[res], bell)
	return res
}

// unwatch has the bell rung no more.
func (s *share) unwatch(r *capacity.Resource, bell chan<- struct{}) {
	s.Lock()
	defer s.Unlock()
	s.bells[r] = slices.DeleteFunc(s.bells[r], func(b chan<- struct{}) bool { return b == bell })
}
