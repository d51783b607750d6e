package model

import (
	"fmt"
	"math"
	"time"

	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// epoch is the midnight that begins a Friday: the core wants to be told a time of
// the world, and the model's time counts from here.
const epoch = int64(20_000*24) * int64(time.Hour)

// machine is a world while it is played. Times are nanoseconds since its beginning.
type machine struct {
	virtual.Clock
	w         World
	policy    scale.Policy
	end       int64
	observed  int64  // when seconds were last written down
	made      uint64 // numbers the tasks
	table     *route.Table
	resources []*resource
	nodes     []*node
	parts     []*part
	streams   []*stream
	tenants   map[string]*tenant
	order     []*tenant // by first appearance
	coming    int       // streams that bring more
	open      int       // bulk actions that have not ended
	active    []*bulk   // those; ended ones leave it once a second
	tasks     int       // started
	curve     Curve
	enough    func(at Span) bool // nil: never before the end
	looks     int                // at what there is to do, so far
}

// Run plays a world to its end and tells what happened.
func Run(w World) (Result, error) { return RunUntil(w, nil) }

// RunUntil is [Run] that is left early when enough says so. It is asked now and
// then, with the time of the world, and may bound what an answer costs: only
// with one that says nothing else are equal runs of equal worlds alike.
func RunUntil(w World, enough func(at Span) bool) (Result, error) {
	w = w.withDefaults()
	if err := w.validate(); err != nil {
		return Result{}, err
	}
	m := newMachine(w)
	m.enough = enough
	m.play()
	return m.result(), nil
}

func newMachine(w World) *machine {
	policy, _ := scale.ByName(w.Workers.Policy) // checked before
	m := &machine{w: w, policy: policy, end: int64(w.Length), tenants: map[string]*tenant{}, table: route.NewTable(w.Partitions)}
	if m.end == 0 {
		m.end = int64(longest)
	}
	for i := range w.Resources {
		m.resources = append(m.resources, newResource(m, i))
	}
	m.build()
	for i := range w.BulkActions {
		m.streams = append(m.streams, newStream(m, i))
	}
	for _, s := range m.streams {
		s.next()
	}
	m.At(second, m.tick)
	return m
}

// build makes the nodes and gives each its partitions.
func (m *machine) build() {
	var nodes []route.Node
	for i, n := range m.w.Nodes {
		nodes = append(nodes, route.Node{Name: fmt.Sprintf("node-%02d", i), Slots: n.Slots})
		m.nodes = append(m.nodes, newNode(m, i, nodes[i].Name))
	}
	all := make([]int, m.w.Partitions)
	for i := range all {
		all[i] = i
	}
	owners := route.Assign(all, nodes, nil)
	for i := range all {
		for _, n := range m.nodes {
			if n.name == owners[i] {
				m.parts = append(m.parts, newPart(m, n))
			}
		}
	}
	m.shareLimits()
}

// clock returns the time as the core sees it.
func (m *machine) clock() int64 { return epoch + m.Now() }

// play goes from event to event until the end.
func (m *machine) play() {
	next := func() int64 { return max(m.Now()+1, m.wake()) }
	turn := func() (last bool) {
		m.dispatch()
		return m.over() || m.left()
	}
	if !m.Play(m.end-1, next, turn) {
		m.Advance(m.end)
	}
	if m.observed < m.Now() {
		m.observe() // what is left of the last second
	}
}

// over reports whether nothing is left to be seen.
func (m *machine) over() bool {
	switch {
	case m.w.Length == 0 && m.open == 0 && m.coming == 0:
		return true
	case m.w.MaxTasks > 0 && m.tasks >= m.w.MaxTasks:
		return true
	}
	return m.w.StopAfter != "" && m.stopped()
}

// askEvery is how many looks pass between two calls of enough.
const askEvery = 64

// left reports whether the caller has seen enough.
func (m *machine) left() bool {
	m.looks++
	return m.enough != nil && m.looks%askEvery == 0 && m.enough(Span(m.Now()))
}

// stopped reports whether the bulk action after which the world stops has ended.
func (m *machine) stopped() bool {
	for _, s := range m.streams {
		if s.Name == m.w.StopAfter {
			return len(s.bulks) > 0 && s.bulks[0].end >= 0
		}
	}
	return false
}

// wake returns when something happens again.
func (m *machine) wake() int64 {
	next := m.Next() // there is always the next tick
	for _, p := range m.parts {
		if at := p.queue.Wake(); at != math.MaxInt64 {
			next = min(next, at-epoch)
		}
	}
	return next
}

// dispatch starts all that may start now, over all partitions.
func (m *machine) dispatch() {
	now := m.clock()
	for _, p := range m.parts {
		if p.stirred || p.queue.Wake() <= now {
			p.dispatch()
			p.node.deliver()
		}
	}
	for _, n := range m.nodes {
		n.deliver()
	}
}

// tick ends a second: it is recorded, and the lanes are told how many workers to have.
func (m *machine) tick() {
	m.observe()
	m.After(second, m.tick)
}
