package sched

import (
	"math"

	"github.com/weirhq/weir/internal/core/heap"
)

// Path tells how a task was picked.
type Path uint8

// The paths, in the order in which they are tried.
const (
	PathExpress Path = iota // small work that fair sharing already owes its service
	PathAged                // a tenant that waited too long
	PathTier                // fair sharing
)

// String returns the path's name in logs and metrics.
func (p Path) String() string { return [...]string{"express", "aged", "tier"}[p] }

// Pick is a task that may run now; all it needs has been reserved. It ends with
// exactly one call of [Queue.Done], or of [Queue.Return] if it is not run.
type Pick struct {
	Entry *Entry
	Cost  int
	Path  Path
	At    int64 // when it was picked
	Start int64 // when limits count it from: At, or when it was taken up
	until int64 // by when it has to start
	no    int32 // of its flight
	Level int32 // tasks of its resource in flight when it was picked, itself included
}

// Queue holds the work of one node. A single user calls it directly; several share it, each
// through a [Party].
type Queue struct {
	opt      Options
	slots    int
	inFlight int
	tenants  map[string]*Tenant
	present  int   // tenants with something to run, or in flight
	presentW int64 // their weight

	ready    resourceHeap // by slot tag
	sleeping resourceHeap // by wake time
	vSlots   int64        // slot tag of the resource served last
	seq      uint64       // counts entries made, and picks of shards

	resources []*Resource
	closed    heap.Heap[closure]

	flights []flight
	landed  []int32 // numbers of flights that can be used again
	stalled int     // of those in flight
	short   bool    // a resource may wait for a free worker
	lookAt  int64

	clock   int64 // the latest time that a caller passed
	own     Party // of bulk actions added without a party
	parties []*Party
	calls   []*Party // should ask for their next task
	sentry  *Party   // asks again at the time watch without being called; nil: no party does
	watch   int64
}

// New returns an empty queue.
func New(o Options) *Queue {
	o = o.withDefaults()
	q := &Queue{opt: o, slots: o.Slots, tenants: make(map[string]*Tenant), clock: math.MinInt64}
	q.own.q = q
	return q
}

// at returns the time of a call: now, or that of an earlier call if it is later, since callers
// read their clocks independently. So reservations are in the order of time.
func (q *Queue) at(now int64) int64 {
	q.clock = max(q.clock, now)
	return q.clock
}

// InFlight returns the number of picks that are not done.
func (q *Queue) InFlight() int { return q.inFlight }

// Tenants returns the number of tenants held in memory.
func (q *Queue) Tenants() int { return len(q.tenants) }

// Next picks the task that runs next and reserves all that it needs. After a pick the caller
// reports with [Queue.Update] what is left of the entry before it asks again.
func (q *Queue) Next(now int64) (p Pick, ok bool) {
	ok = q.next(q.at(now), &p)
	return p, ok
}

func (q *Queue) next(now int64, out *Pick) bool {
	for q.sleeping.len() > 0 && q.sleeping.min().key <= now {
		q.setReady(q.sleeping.min().r)
	}
	if len(q.closed) > 0 {
		q.reopen(now)
	}
	if now >= q.lookAt {
		q.look(now)
	}
	for !q.full() {
		for q.ready.len() > 0 && !q.lentOut() {
			if q.pick(now, q.ready.min().r, out) {
				return true
			}
		}
		if !q.reconsider() {
			break
		}
	}
	for i := q.ready.len() - 1; i >= 0; i-- { // some are left only if no slot is left for them
		if r := q.ready.s[i].r; r.crowded(now) && r.gate.Peek(now) == math.MaxInt64 {
			q.block(now, r, math.MaxInt64, CauseSlots)
		} else {
			r.waitForWorker(now, true)
		}
	}
	return false
}

// reconsider wakes the resources that sleep for a task that may no longer run: a smaller one
// behind it may fit already.
func (q *Queue) reconsider() (any bool) {
	for i := q.sleeping.len() - 1; i >= 0; i-- {
		r := q.sleeping.s[i].r
		if e := r.blocker; e != nil && (e.head != r.blockedAs || !e.eligible()) {
			q.setReady(r)
			return true
		}
	}
	return false
}

// Wake returns when Next is worth calling again without other input: a time in
// the past if it is now, math.MaxInt64 if never.
func (q *Queue) Wake() int64 {
	switch {
	case q.full():
		return q.nextLook()
	case q.ready.len() > 0 && !q.lentOut():
		return math.MinInt64
	case q.sleeping.len() > 0:
		return min(q.sleeping.min().key, q.nextOpen(), q.nextLook())
	}
	return min(q.nextOpen(), q.nextLook())
}

// busy returns how many slots are taken.
func (q *Queue) busy() int { return q.inFlight - min(q.stalled, q.slots) }

// full reports whether all slots are taken, those of the reserve too.
func (q *Queue) full() bool { return q.slots > 0 && q.busy() >= q.slots+reserve(q.slots) }

// tight reports whether only the reserve is left, which is for tenants below their share.
func (q *Queue) tight() bool { return q.slots > 0 && q.busy() >= q.slots }

// lentOut reports whether only the reserve is left and no waiting tenant may use it. A tenant
// that is alone may not: its share is all slots, and it has them.
func (q *Queue) lentOut() bool {
	return q.tight() && q.ready.len() > 0 && (q.present == 1 || q.ready.min().key >= aboveShare)
}

// reserve returns how many tasks may be in flight beyond a number of slots or workers, for
// tenants below their share. Without it, a tenant that fills all slots with long calls would
// block every tenant that comes later.
func reserve(slots int) int { return slots / 8 }

// Done reports that the task of p ended, with any outcome, after running for service
// nanoseconds. It returns what the pick reserved.
func (q *Queue) Done(now int64, p Pick, service int64) {
	now = q.at(now)
	e := p.Entry
	q.chargeSlow(e, int64(p.Cost), service)
	e.flow.tier.r.observe(service)
	e.flow.tier.r.ended = now
	e.flow.ended++
	q.release(now, p)
}

// release gives back what p reserved, but for the rate.
func (q *Queue) release(now int64, p Pick) {
	e := p.Entry
	g, r := e.bulk, e.flow.tier.r
	t := g.tenant
	e.side.countBusy(now)
	q.countTask(e, -1)
	q.land(p.no)
	r.gate.Release(now)
	slept := r.state == resourceSleeping && r.cause == CauseSlots // for calls that hung; one of them may have ended now
	if (r.state == resourceWaiting || slept) && r.runnable() {
		q.setReady(r)
	}
	if g.cap > 0 && g.inFlight == g.cap-1 {
		q.requeue(now, g)
	}
	q.loosen(now, t)
	q.forget(t)
}

// countTask counts a task of e in or out.
func (q *Queue) countTask(e *Entry, by int) {
	t := e.bulk.tenant
	was := t.present()
	q.inFlight += by
	e.flow.tier.r.inFlight += by
	e.inFlight += int32(by)
	e.flow.inFlight += int32(by)
	e.side.inFlight += by
	t.inFlight += int32(by)
	e.bulk.inFlight += int32(by)
	q.countPresent(t, was)
}

// countPresent keeps the weight of the tenants that are present, after a change.
func (q *Queue) countPresent(t *Tenant, was bool) {
	switch is := t.present(); {
	case is && !was:
		q.present++
		q.presentW += t.slotWeight()
	case was && !is:
		q.present--
		q.presentW -= t.slotWeight()
	}
}

// Refund gives the tenant back what it was charged for p, of which Done was told: the downstream refused
// the task. If it refused the tenant's task before p as well, the tenant stays charged. Otherwise the only
// tenant that is refused would always be next, and no call of another tenant would show that calls pass.
func (q *Queue) Refund(p Pick) {
	f := p.Entry.flow
	again := f.refused != 0 && f.refused == f.ended-1
	f.refused = f.ended
	if !again {
		q.refund(p)
	} else if f.agenda != nil {
		f.agenda.taken += int64(p.Cost)
	}
}

// refund gives the tenant back what it was charged for p.
func (q *Queue) refund(p Pick) {
	f := p.Entry.flow
	if f.agenda != nil {
		f.agenda.taken += int64(p.Cost) // it does not bring the end nearer
	}
	least := min(f.tag, f.tier.v)
	f.tag = max(f.tag-perWeight(int64(p.Cost), f.weight), least)
	if f.inTree() && f.tag < f.heapKey {
		f.tier.push(f)
	}
}
