package sched

import "math/bits"

type bulkState uint8

const (
	bulkRunning bulkState = iota
	bulkPaused
	bulkRemoved
)

// BulkConfig describes a bulk action.
type BulkConfig struct {
	Submit   int64 // when it was submitted
	Priority int   // each point is worth a minute of age, inside the tenant
	Tier     int   // 0 critical, 1 high, 2 default, 3 low
	Cap      int   // tasks in flight, 0 for no bound, below 0 for none at all
	Deadline int64 // when it must have ended, 0 for no deadline; see [Queue.Look]
	Shard    bool  // one of several bulk actions that do the same work: they take turns
	Data     any   // the caller's
}

// Bulk is a bulk action.
type Bulk struct {
	// Data is the caller's.
	Data any

	tenant   *Tenant
	party    *Party
	pledge   *pledge // nil: it has no deadline
	first    *Entry
	submit   int64
	priority int32
	cap      int32
	inFlight int32
	tier     uint8
	state    bulkState
	shard    bool
}

// Entry is one step of a bulk action, on one resource.
type Entry struct {
	// Data is the caller's.
	Data any

	bulk     *Bulk
	flow     *flow
	side     *Side
	next     *Entry   // of the same bulk action
	key      [2]int64 // byScore: lowest is best; byRemaining: items left, head and backlog
	at       [2]int32 // places in the flow's heaps, -1 if not queued
	head     int32
	inFlight int32  // tasks
	stalled  int32  // of those
	seq      uint64 // breaks ties
	step     int16
	granted  bool // picked, and its party has not been told yet
	away     bool // picked by another party, and not updated since
	parked   bool // its party is absent
	urgent   bool // its deadline is close
	over     bool // its deadline cannot be met
}

// AddBulk adds a bulk action of t.
func (q *Queue) AddBulk(t *Tenant, c BulkConfig) *Bulk { return q.own.AddBulk(t, c) }

// AddBulk adds a bulk action of t whose tasks p runs.
func (p *Party) AddBulk(t *Tenant, c BulkConfig) *Bulk {
	t = p.q.living(t)
	t.bulks++
	g := &Bulk{
		Data: c.Data, tenant: t, party: p, submit: c.Submit,
		priority: int32(c.Priority), cap: int32(c.Cap), tier: uint8(min(max(c.Tier, 0), Tiers-1)), shard: c.Shard,
	}
	if c.Deadline != 0 {
		p.q.seq++
		g.pledge = &pledge{at: c.Deadline, no: p.q.seq}
	}
	return g
}

// AddEntry adds an entry for a step of g that runs on r. It has nothing to run until
// [Queue.Update] is called.
func (q *Queue) AddEntry(g *Bulk, r *Resource, step int) *Entry {
	f := q.flowOf(g.tenant, r, int(g.tier))
	q.stopLingering(f)
	f.refs++
	q.seq++
	e := &Entry{bulk: g, flow: f, side: g.party.side(r), next: g.first, at: [2]int32{-1, -1}, seq: q.seq, step: int16(step)}
	g.first = e
	f.pledged(e)
	return e
}

// Tenant returns the tenant that g belongs to.
func (g *Bulk) Tenant() *Tenant { return g.tenant }

// InFlight returns the number of the bulk action's tasks in flight.
func (g *Bulk) InFlight() int { return int(g.inFlight) }

// Bulk returns the bulk action that e belongs to.
func (e *Entry) Bulk() *Bulk { return e.bulk }

// Resource returns the resource that e runs on.
func (e *Entry) Resource() *Resource { return e.flow.tier.r }

// Step returns the step that e stands for.
func (e *Entry) Step() int { return int(e.step) }

// Head returns the size of e's next task, 0 if there is none.
func (e *Entry) Head() int { return int(e.head) }

// eligible reports whether e could be picked if its resource allowed it.
func (e *Entry) eligible() bool {
	return e.queued() && e.bulk.state == bulkRunning && !e.bulk.atCap() && !e.bulk.tenant.blocked()
}

func (e *Entry) queued() bool { return e.at[byScore] >= 0 }

// Update sets the size of e's next task, and the number of items behind it. A head of 0 means
// that nothing is eligible now; backlog may then still be positive, for items that wait.
func (q *Queue) Update(now int64, e *Entry, head int, backlog int64) {
	if e.bulk.state == bulkRemoved {
		return
	}
	now = q.at(now)
	f := e.flow
	before := e.key[byRemaining]
	e.head = int32(head)
	e.key[byRemaining] = int64(head) + backlog
	switch {
	case e.granted: // the rest is known once the task has been cut
		return
	case !e.queued():
		q.back(e)
		q.enqueue(now, e)
		q.settle(now, f)
		return
	case head == 0:
		e.key[byRemaining] = before // what the flow has counted
		q.dequeue(now, e)
		e.key[byRemaining] = backlog
		return
	}
	q.grow(e, e.key[byRemaining]-before)
	f.heaps[byRemaining].fix(e, byRemaining)
	q.rescore(e)
	if f.inTree() {
		q.classify(f)
	}
}

// grow changes the backlog of e's flow.
func (q *Queue) grow(e *Entry, by int64) {
	e.flow.grow(by)
	e.side.queued += by
	e.side.r.queued += by
}

// enqueue adds e to its flow, if it may be picked.
func (q *Queue) enqueue(now int64, e *Entry) {
	g, f := e.bulk, e.flow
	if e.head == 0 || e.queued() || e.away || g.state != bulkRunning || g.atCap() {
		return
	}
	if g.party.shut {
		g.party.park(e)
		return
	}
	e.key[byScore] = q.score(e)
	f.heaps[byScore].push(e, byScore)
	f.heaps[byRemaining].push(e, byRemaining)
	q.grow(e, e.key[byRemaining])
	q.rescore(e)
	switch {
	case f.state == flowIdle:
		q.activate(now, f, true)
	case f.state == flowAsked:
		q.answer(now, f)
	case f.inTree():
		q.classify(f)
	}
}

// dequeue removes e from its flow, and the flow from the tree if e was its last entry.
func (q *Queue) dequeue(now int64, e *Entry) {
	f := e.flow
	f.heaps[byScore].remove(e, byScore)
	f.heaps[byRemaining].remove(e, byRemaining)
	q.grow(e, -e.key[byRemaining])
	if e.bulk.state == bulkRemoved {
		f.dead--
	}
	switch {
	case len(f.heaps[byScore]) > 0:
		if f.inTree() {
			q.classify(f)
		}
	case f.inTree():
		if f.away > 0 {
			q.ask(f)
		} else {
			q.takeOut(now, f, flowIdle)
		}
	case f.state == flowParked:
		f.tenant.parked--
		f.state = flowIdle
		f.wants(now, false)
		if f.refs == 0 {
			q.startLingering(f)
		}
	}
}

// requeue adds those entries of g to their flows that may be picked.
func (q *Queue) requeue(now int64, g *Bulk) {
	for e := g.first; e != nil; e = e.next {
		q.enqueue(now, e)
	}
}

// score ranks entries inside a tenant, least first: by age, priority, and a bonus
// for each halving of the remaining work. It does not depend on the present
// time, so a rank stays right until the entry itself is served.
func (q *Queue) score(e *Entry) int64 {
	g, left := e.bulk, e.key[byRemaining]
	if g.shard { // shards that have nearly the same left rank the same
		left = 1 << bits.Len64(uint64(max(left, 1)))
	}
	return g.submit - int64(g.priority)*int64(priorityWorth) + halvings(left, int64(halvingWorth))
}

// halvings returns log2(n) x worth, linear between powers of two.
func halvings(n, worth int64) int64 {
	u := uint64(max(n, 1))
	k := bits.Len64(u) - 1
	frac := int64(u << (63 - k) << 1 >> 48) // the 16 bits below the leading one
	return int64(k)*worth + worth*frac>>16
}

// rescore moves e to its rank, and later steps of its bulk action in the same flow
// ahead of it: work in progress is finished first.
func (q *Queue) rescore(e *Entry) {
	f := e.flow
	e.key[byScore] = q.score(e)
	for o := e.bulk.first; o != nil; o = o.next {
		if o.step < e.step && o.flow == f && o.queued() {
			e.key[byScore] = min(e.key[byScore], o.key[byScore]-1)
		}
	}
	f.heaps[byScore].fix(e, byScore)
	for o := e.bulk.first; o != nil; o = o.next {
		if o.step > e.step && o.flow == f && o.queued() && o.key[byScore] >= e.key[byScore] {
			o.key[byScore] = e.key[byScore] - int64(o.step-e.step)
			f.heaps[byScore].fix(o, byScore)
		}
	}
}

func (g *Bulk) atCap() bool { return g.cap != 0 && g.inFlight >= g.cap }

// PauseBulk lets nothing of g start until it is resumed. O(1): its entries leave the tree when
// Next meets them.
func (q *Queue) PauseBulk(_ int64, g *Bulk) {
	if g.state == bulkRunning {
		g.state = bulkPaused
	}
}

// ResumeBulk ends a pause.
func (q *Queue) ResumeBulk(now int64, g *Bulk) {
	if g.state == bulkPaused {
		g.state = bulkRunning
		q.requeue(now, g)
	}
}

// SetBulk changes the priority, tier and cap of g and whether it is a shard, and nothing else. Tasks in flight are not touched.
func (q *Queue) SetBulk(now int64, g *Bulk, c BulkConfig) {
	if g.state == bulkRemoved {
		return
	}
	now = q.at(now)
	for e := g.first; e != nil; e = e.next {
		if e.queued() {
			q.dequeue(now, e)
		}
	}
	g.priority, g.cap, g.shard = int32(c.Priority), int32(c.Cap), c.Shard
	if tier := uint8(min(max(c.Tier, 0), Tiers-1)); tier != g.tier {
		g.tier = tier
		for e := g.first; e != nil; e = e.next {
			q.move(now, e)
		}
	}
	q.requeue(now, g)
}

// move takes an entry that is not queued to the flow of its bulk action's tier.
func (q *Queue) move(now int64, e *Entry) {
	old := e.flow
	if e.away {
		old.away--
		defer func() { e.flow.away++ }()
		q.settle(now, old)
	}
	f := q.flowOf(e.bulk.tenant, old.tier.r, int(e.bulk.tier))
	q.stopLingering(f)
	f.refs++
	old.unpledged(e)
	e.flow = f
	old.inFlight -= e.inFlight
	f.inFlight += e.inFlight
	old.stalled -= e.stalled
	f.stalled += e.stalled
	f.pledged(e)
	if old.refs--; old.refs == 0 && old.state == flowIdle {
		q.startLingering(old)
	}
}

// RemoveBulk removes g: nothing of it is picked any more. The caller still reports tasks in
// flight to Done when they end. Entries leave the tree when Next meets them, when nothing else
// is left in their flow, or when they are most of it: the cost is O(log entries) on average.
func (q *Queue) RemoveBulk(now int64, g *Bulk) {
	if g.state == bulkRemoved {
		return
	}
	now = q.at(now)
	g.state = bulkRemoved
	for e := g.first; e != nil; e = e.next {
		f := e.flow
		f.unpledged(e)
		q.back(e)
		q.settle(now, f)
		f.refs--
		if f.refs == 0 && f.state == flowIdle {
			q.startLingering(f)
		}
		if e.queued() {
			f.dead++
		}
	}
	for e := g.first; e != nil; e = e.next {
		q.purge(now, e.flow)
	}
	g.tenant.bulks--
	q.forget(g.tenant)
}

// purge removes the entries of removed bulk actions from f if they are many, or all of it: on a
// paused resource Next never meets them, and they must not stay.
func (q *Queue) purge(now int64, f *flow) {
	n := len(f.heaps[byScore])
	if int(f.dead) < n && (f.dead < 32 || int(f.dead) < n/2) {
		return
	}
	// Downwards: the entry that takes the place of a removed one has been checked. A removed
	// one may still be missed on its way down; it stays counted, and goes next time.
	for i := n - 1; i >= 0; i-- {
		if s := f.heaps[byScore]; i < len(s) && s[i].bulk.state == bulkRemoved {
			q.dequeue(now, s[i])
		}
	}
}
