package model

import (
	"fmt"
	"math/rand/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/chain"
	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/internal/core/sched"
)

// stream brings bulk actions: one, or one after the other.
type stream struct {
	BulkAction
	m     *machine
	no    int
	rank  int // of its tier
	rng   *rand.Rand
	skips *rand.Rand
	sizes spread
	at    int64 // when the next one comes
	bulks []*bulk

	waited []waited     // by step
	sent   []StepResult // by step
	looks  int
}

func newStream(m *machine, no int) *stream {
	b := m.w.BulkActions[no]
	tier, _ := weir.ParseTier(b.Tier) // checked before
	m.coming++
	return &stream{
		BulkAction: b, m: m, no: no, rank: tier.Rank(), at: int64(b.At),
		rng: chance(m.w.Seed, ofArrivals, no), skips: chance(m.w.Seed, ofSkips, no), waited: make([]waited, len(b.Steps)),
		sent: make([]StepResult, len(b.Steps)), sizes: spreadOf(float64(b.Items), float64(b.ItemsP99)),
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
	s.m.At(s.at, s.arrive)
}

// arrive submits a bulk action.
func (s *stream) arrive() {
	b := &bulk{stream: s, no: len(s.bulks), at: s.m.Now(), items: s.Items, first: -1, end: -1}
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
	most         int64 // when all but the last few items had ended; 0: not yet
	late         int64 // when it was known that its deadline will not be met; 0: never
	cancelled    bool  // its deadline is over
	pieces       []*piece
	calls        []calls // by step
}

// calls is how long the calls of a step took that were answered.
type calls struct{ number, sum, longest int64 }

// piece is the part of a bulk action that a partition runs. The pieces of a huge
// one take their items from one counter, so none is left behind.
type piece struct {
	*bulk
	part   *part
	queued *sched.Bulk
	steps  []*step
	lots   int // made
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
	if b.Concurrency > 0 { // the others would have no part of it
		shards = shards[:min(len(shards), b.Concurrency)]
	}
	for i, p := range shards {
		b.pieces = append(b.pieces, newPiece(b, m.parts[p], i, len(shards)))
	}
	for _, p := range b.pieces {
		first := p.steps[0]
		first.lane.became(max(1, first.tasksOf(b.items)/len(b.pieces)), chain.Large(b.items, first.chunk))
	}
	b.resume()
	for _, p := range b.pieces {
		for _, s := range p.steps {
			p.offer(s)
		}
	}
	b.mind()
}

func newPiece(b *bulk, p *part, no, pieces int) *piece {
	now := p.m.clock()
	b.tenant.comeTo(p)
	pc := &piece{bulk: b, part: p}
	pc.queued = p.queue.AddBulk(b.tenant.name,
		sched.BulkConfig{Submit: now, Priority: b.Priority, Tier: b.rank, Deadline: b.due(), Shard: pieces > 1,
			Cap: (b.Concurrency + pieces - 1 - no) / pieces})
	for i, name := range b.Steps {
		l := p.lane(name)
		l.open()
		s := &step{piece: pc, no: i, lane: l, share: b.tenant.share(l.res, b.rank)}
		s.setPace(pieces)
		s.entry = p.queue.AddEntry(pc.queued, l.entry, i, s)
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

// load returns how much waits in a partition, for the choice between two.
func (p *part) load() (tasks float64) {
	for _, l := range p.lanes {
		tasks += float64(l.tasks + l.inFlight)
	}
	return tasks
}
