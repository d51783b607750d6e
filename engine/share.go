package engine

import (
	"slices"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/limit"
)

// share divides this node's slots and the resources' limits between its
// partitions. The rule is in limit.Pool; here is the lock around it, since the
// partitions' loops are different goroutines.
type share struct {
	mu   sync.Mutex
	pool *limit.Pool
	wake func(partition int, resource string) // only puts into a mailbox

	controls []*control                                // in the order in which they were made
	shared   bool                                      // other nodes use the limits, too
	bells    map[*limit.PoolResource][]chan<- struct{} // whoever watches a resource

	before int64         // when a former owner may last have started a task; 0: never
	gates  []*gate       // handed out
	woken  []*limit.Lane // reused
	stirs  []*limit.PoolResource
}

func newShare(slots int, wake func(int, string)) *share {
	return &share{pool: limit.NewPool(slots), wake: wake}
}

// gate is one partition's way to one resource.
type gate struct {
	share   *share
	lane    *limit.Lane
	control *control
	ending  ending // of the task that the loop is about to release
}

func (s *share) gate(partition int, r weir.Resource) *gate {
	s.mu.Lock()
	defer s.unlock()
	res := s.resource(r)
	g := &gate{share: s, lane: s.pool.Lane(res, partition), control: s.controlOf(res, r)}
	s.gates = append(s.gates, g)
	s.waitOut(g)
	return g
}

// resource finds r in the pool, or makes it. Limits that are shared with other
// nodes let nothing start before there is a quota.
func (s *share) resource(r weir.Resource) *limit.PoolResource {
	res := s.pool.Resource(limit.ResourceConfig{Name: r.Name, Rate: float64(r.Rate), Concurrency: r.Concurrency})
	if s.shared {
		s.pool.Share(res)
	}
	return res
}

// watch shares a resource with other nodes, and has the bell rung whenever its keeper should look at it.
func (s *share) watch(r weir.Resource, bell chan<- struct{}) (*limit.PoolResource, *control) {
	s.mu.Lock()
	defer s.unlock()
	res := s.resource(r)
	if s.bells == nil {
		s.bells = map[*limit.PoolResource][]chan<- struct{}{}
	}
	s.bells[res] = append(s.bells[res], bell)
	return res, s.controlOf(res, r)
}

// unwatch has the bell rung no more.
func (s *share) unwatch(r *limit.PoolResource, bell chan<- struct{}) {
	s.mu.Lock()
	defer s.unlock()
	s.bells[r] = slices.DeleteFunc(s.bells[r], func(b chan<- struct{}) bool { return b == bell })
}

// former tells when a former owner of a partition may last have started a task,
// which has used up a part of the rates. Where limits are shared between nodes
// their books know.
func (s *share) former(at int64) {
	s.mu.Lock()
	s.before = max(s.before, at)
	for _, g := range s.gates {
		s.waitOut(g)
	}
	s.unlock()
}

// waitOut closes a resource until what former owners started is out of its rate's window.
func (s *share) waitOut(g *gate) {
	if w := g.lane.Resource().Window(); s.before != 0 && w > 0 && !s.shared {
		s.pool.CloseUntil(s.before, g.lane.Resource(), s.before+w)
	}
}

// Peek implements sched.Gate.
func (g *gate) Peek(now int64) int64 {
	g.share.mu.Lock()
	defer g.share.unlock()
	if at, held := g.held(now, 1, false); held {
		return at
	}
	return g.share.pool.Peek(now, g.lane)
}

// Take implements sched.Gate.
func (g *gate) Take(now int64, cost int, weight int64, express bool) (int64, bool) {
	g.share.mu.Lock()
	defer g.share.unlock()
	if at, held := g.held(now, cost, express); held {
		return at, false
	}
	at, ok := g.share.pool.Take(now, g.lane, cost, weight, express)
	if ok {
		g.control.windows.Sent(now, cost)
	}
	return at, ok
}

// SetWorkers implements sched.Scaler.
func (g *gate) SetWorkers(now int64, n int) {
	g.share.mu.Lock()
	g.share.pool.SetWorkers(now, g.lane, n)
	g.share.unlock()
}

// Release implements sched.Gate.
func (g *gate) Release(now int64) {
	g.share.mu.Lock()
	if g.ending.sent != 0 {
		g.share.learn(now, g.control, &g.ending)
		g.ending = ending{}
	}
	g.share.pool.Release(now, g.lane)
	g.share.unlock()
}

// Idle implements sched.Gate.
func (g *gate) Idle(now int64) {
	g.share.mu.Lock()
	g.share.pool.Idle(now, g.lane)
	g.share.unlock()
}

// Cause implements sched.Explainer: why the lane was refused last. A resource that
// flow control has nothing against is closed only to keep its rate, see waitOut, or
// held only until its first call has succeeded: that bounds the calls in flight.
func (g *gate) Cause() limit.Cause {
	g.share.mu.Lock()
	defer g.share.mu.Unlock()
	c := g.share.pool.Cause(g.lane)
	switch {
	case g.control.troubled():
		return c
	case c == limit.CauseClosed:
		return limit.CauseRate
	case c == limit.CauseCircuit:
		return limit.CauseConcurrency
	}
	return c
}

// leave forgets the lanes of a partition that this node no longer owns.
func (s *share) leave(now int64, partition int) {
	s.mu.Lock()
	for _, g := range s.gates {
		if g.lane.Partition() == partition {
			s.pool.Drop(now, g.lane)
		}
	}
	s.gates = slices.DeleteFunc(s.gates, func(g *gate) bool { return g.lane.Partition() == partition })
	s.unlock()
}

// unlock lets go of the pool and wakes the lanes that the call entitled.
func (s *share) unlock() {
	s.woken = s.pool.Wakes(s.woken[:0])
	for _, l := range s.woken {
		s.wake(l.Partition(), l.Resource().Name())
	}
	if s.bells != nil {
		s.ring()
	}
	s.mu.Unlock()
}

// ring tells those who watch the resources at which something has changed.
func (s *share) ring() {
	s.stirs = s.pool.Stirred(s.stirs[:0])
	for _, r := range s.stirs {
		for _, bell := range s.bells[r] {
			select {
			case bell <- struct{}{}:
			default: // it has been rung
			}
		}
	}
}
