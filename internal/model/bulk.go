package model

import (
	"fmt"
	"math/rand/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/heap"
	"github.com/weirhq/weir/internal/route"
	"github.com/weirhq/weir/internal/sched"
)

// stream brings bulk actions: one, or one after the other.
type stream struct {
	BulkAction
	m     *machine
	no    int
	rank  int // of its tier
	rng   *rand.Rand
	sizes spread
	at    int64 // when the next one comes
	bulks []*bulk

	waited []waited // by step
	looks  int
}

func newStream(m *machine, no int) *stream {
	b := m.w.BulkActions[no]
	tier, _ := weir.ParseTier(b.Tier) // checked before
	m.coming++
	return &stream{
		BulkAction: b, m: m, no: no, rank: tier.Rank(), at: int64(b.At),
		rng: luck(m.w.Seed, ofArrivals, no), waited: make([]waited, len(b.Steps)), sizes: spreadOf(float64(b.Items), float64(b.ItemsP99)),
	}
}

// next plans the next arrival of a stream.
func (s *stream) next() {
	if s.Arrivals > 0 {
		s.at += int64(s.rng.ExpFloat64() / float64(s.Arrivals) * float64(second))
		if s.at >= int64(s.Until) {
			s.m.coming--
			return
		}
	}
	s.m.later(s.at, s.arrive)
}

// arrive submits a bulk action.
func (s *stream) arrive() {
	b := &bulk{stream: s, no: len(s.bulks), at: s.m.now, items: s.Items, first: -1, end: -1}
	if s.ItemsP99 > 0 {
		b.items = max(1, int64(s.sizes.draw(s.rng)+0.5))
	}
	name := s.Tenant
	if s.Spread > 0 {
		name = fmt.Sprintf("%s-%d", s.Tenant, 1+s.rng.IntN(s.Spread))
	}
	s.bulks = append(s.bulks, b)
	s.m.submit(b, name)
	if s.Arrivals > 0 {
		s.next()
	} else {
		s.m.coming--
	}
}

// bulk is one bulk action.
type bulk struct {
	*stream
	no           int
	tenant       *tenant
	at           int64
	items        int64
	rest         int64 // not yet begun
	done, failed int64
	first, end   int64 // when its first task started and its last one ended; -1: not yet
	pieces       []*piece
	calls        []calls // by step
}

// calls is how long the calls of a step took that were answered.
type calls struct{ number, sum, longest int64 }

// piece is the part of a bulk action that a partition runs. The pieces of a huge
// one take their items from one counter, so none is left behind.
type piece struct {
	*bulk
	part  *part
	group *sched.Group
	steps []*step
}

// submit brings a bulk action to its partitions.
func (m *machine) submit(b *bulk, tenant string) {
	b.tenant, b.rest, b.calls = m.tenant(tenant), b.items, make([]calls, len(b.Steps))
	m.open++
	m.active = append(m.active, b)
	n := m.w.Partitions
	a, z := m.table.Candidates(tenant)
	home := route.Choose(a, z, func(p int) float64 { return m.parts[p].load() })
	shards := route.Shards(tenant, home, n, route.ShardsFor(b.items, route.MostShards(n)))
	for _, p := range shards {
		b.pieces = append(b.pieces, newPiece(b, m.parts[p], len(shards)))
	}
	for _, p := range b.pieces {
		first := p.steps[0]
		tasks := first.tasksOf(b.items)
		first.lane.became(max(1, tasks/len(b.pieces)), tasks > largeTasks)
		p.offer(first)
	}
}

func newPiece(b *bulk, p *part, pieces int) *piece {
	now := p.m.clock()
	b.tenant.comeTo(p)
	pc := &piece{bulk: b, part: p}
	pc.group = p.queue.AddGroup(b.tenant.name, sched.GroupConfig{Submit: now, Priority: b.Priority, Tier: b.rank, Shard: pieces > 1})
	for i, name := range b.Steps {
		l := p.lane(name)
		s := &step{piece: pc, no: i, lane: l, share: b.tenant.share(l.res, b.rank)}
		s.setPace(pieces)
		s.entry = p.queue.AddEntry(pc.group, l.entry, i, s)
		pc.steps = append(pc.steps, s)
		s.setChunk()
	}
	return pc
}

func (p *part) lane(resource string) *lane {
	for _, l := range p.lanes {
		if l.res.Name == resource {
			return l
		}
	}
	panic("model: a step without a lane")
}

// load is how much waits in a partition, for the choice between two.
func (p *part) load() (tasks float64) {
	for _, l := range p.lanes {
		tasks += float64(l.tasks + l.inFlight)
	}
	return tasks
}

// step is one step of a piece.
type step struct {
	*piece
	no       int
	lane     *lane
	entry    *sched.Entry
	share    *share
	chunk    int
	pace     pace  // what the bulk action itself allows here
	ready    int64 // items that may run; at the first step they are still in bulk.rest
	loose    int64 // items that wait for company, to fill a task
	calling  bool  // a time is set at which they go without
	waiting  int64 // items that wait for another attempt
	flying   int64 // items in flight
	retries  heap.Heap[again]
	retried  int64 // items in retries
	granted  bool  // its next task is a retry
	held     bool  // a time is set at which it may be
	offered  int   // tasks that the lane counts for it
	eligible bool
}

// again is items that are tried again together.
type again struct {
	seq     uint64 // order of their first failure
	items   int
	attempt int // the one to come
	fails   int // times that the whole task failed
}

// Before orders retries.
func (a again) Before(b again) bool { return a.seq < b.seq }

func (s *step) tasksOf(items int64) int { return int((items + int64(s.chunk) - 1) / int64(s.chunk)) }

// head is the size of the next task, 0 if there is none now.
func (s *step) head() int {
	if s.pace.waits {
		return 0
	}
	return s.size()
}

// size is the size of the next task if its own rate lets it start.
func (s *step) size() int {
	switch {
	case s.crowded():
		return 0
	case s.granted:
		return s.retries[0].items
	}
	return int(min(int64(s.chunk), s.fresh()))
}

// grant decides whether the next task is a retry. While the step has first attempts to
// make as well, retries have a part of the rate.
func (s *step) grant(m *machine) {
	rate := float64(s.lane.res.Rate)
	if len(s.retries) == 0 || s.granted || s.held && s.fresh() > 0 {
		return
	}
	s.granted = rate == 0 || s.fresh() == 0 || s.lane.share.Take(m.clock(), s.retries[0].items, rate)
	if !s.granted {
		s.held = true
		m.later(s.lane.share.Next()-epoch, func() {
			s.held = false
			s.offer(s)
		})
	}
}

// fresh is how many items are ready for their first attempt here.
func (s *step) fresh() int64 {
	if s.no == 0 {
		return s.rest
	}
	return s.ready
}

// crowded reports whether the next step has so much to do that more would only
// fill memory.
func (s *step) crowded() bool {
	if s.no+1 == len(s.steps) {
		return false
	}
	next := s.steps[s.no+1]
	room := int64(64 * s.batch(s.no+1))
	if r := next.lane.res.Rate; r > 0 {
		room = max(int64(4*next.chunk), int64(2*r))
	}
	return next.ready+next.loose+next.retried > room
}

// offer tells the queue, the lane and the books of fairness what a step could run.
func (p *piece) offer(s *step) {
	now := p.part.m.clock()
	s.grant(p.part.m)
	s.look(p.part.m)
	s.setChunk()
	head := s.head()
	backlog := s.fresh()
	if s.no == 0 && len(p.pieces) > 1 {
		backlog = max(backlog/int64(len(p.pieces)), int64(head))
	}
	backlog += s.retried
	p.part.queue.Update(now, s.entry, head, backlog-int64(head))
	tasks := 0
	if head > 0 {
		tasks = max(s.tasksOf(backlog), len(s.retries))
	}
	s.lane.tasks += tasks - s.offered
	s.offered = tasks
	if s.eligible != (head > 0) {
		s.eligible = head > 0
		s.share.want(p.part.m, s.eligible)
	}
	p.part.stirred = true
}

// upstream reports whether more items may come to a step.
func (s *step) upstream() bool {
	if s.rest > 0 {
		return true
	}
	for _, b := range s.steps[:s.no] {
		if b.ready+b.loose+b.retried+b.waiting+b.flying > 0 {
			return true
		}
	}
	return false
}
