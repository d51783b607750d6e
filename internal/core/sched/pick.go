package sched

import (
	"math"
	"math/bits"

	"github.com/weirhq/weir/internal/core/limit"
)

// pick picks the next task of r. If there is none, r has left the ready heap.
func (q *Queue) pick(now int64, r *Resource, out *Pick) bool {
	if r.workers >= 0 && r.taken(now) >= r.workers+reserve(r.workers) {
		q.block(now, r, math.MaxInt64, CauseSlots)
		return false
	}
	if r.recheck {
		r.recheck = false
		if at := r.gate.Peek(now); at > now {
			q.block(now, r, at, r.gateCause())
			return false
		}
	}
	r.refill(now)
	for {
		f, path := q.choose(now, r)
		if f == nil {
			q.setEmpty(r) // its last flows turned out to be paused or at their caps
			return false
		}
		e := q.entryOf(now, f, path)
		if e == nil {
			continue
		}
		if (r.crowded(now) || q.overdrawn(f)) && q.atShare(f.tenant) {
			q.block(now, r, math.MaxInt64, CauseSlots)
			return false
		}
		if r.hangs(now) && (q.tight() || f.state == flowHeld) {
			q.block(now, r, q.lookAt, CauseSlots) // calls that hang get neither loans nor the reserve
			return false
		}
		if !q.itsTurn(r, f) {
			return false
		}
		if path == PathTier && r.rate > 0 {
			if until := f.awaited(now, int(e.head)); until > now {
				q.block(now, r, until, CauseFairShare)
				return false
			}
		}
		cost, at, ok := r.take(now, min(int(e.head), r.gate.Most(f.tenant.name, e.Step())))
		if !ok {
			q.block(now, r, at, r.gateCause())
			r.blocker, r.blockedAs = e, e.head
			return false
		}
		q.commit(now, e, int64(cost), path)
		*out = Pick{Entry: e, Cost: cost, Path: path, At: now, Start: now, until: at, no: q.depart(now, e), Level: int32(r.inFlight)}
		return true
	}
}

// take reserves what a task of so many items needs. If the window of a rate has room for a good
// part of them, the task is cut to that part: otherwise the rest of a window would be lost. If
// it has not, at is when it will.
func (r *Resource) take(now int64, items int) (cost int, at int64, ok bool) {
	if at, ok = r.gate.Take(now, items); ok {
		return items, at, true
	}
	part := limit.LeastPart(items)
	n, soon := r.gate.Fits(now, items, part)
	if n >= part {
		if until, ok := r.gate.Take(now, n); ok {
			return n, until, true
		}
	}
	return 0, min(at, soon), false
}

// aboveShare is added to the keys of resources on which only tenants wait that have their share
// of the slots: these resources come last.
const aboveShare = int64(1) << 60

// itsTurn reports whether r comes before all other resources, where f is next. If not, r has
// been moved behind them.
func (q *Queue) itsTurn(r *Resource, f *flow) bool {
	if f.state != flowHeld {
		return true
	}
	q.ready.rekey(r, r.slotTag+aboveShare)
	return q.ready.min().r == r && !q.tight()
}

// choose returns the flow that is served next. The express path is for flows that overtake
// other tiers: if the tier that is next has a flow as small, that one goes by its tier, and the
// path's budget is saved.
func (q *Queue) choose(now int64, r *Resource) (*flow, Path) {
	f := r.leader(false)
	if x := r.smallest(); x != nil && r.budgets[PathExpress] > 0 && (f.class == noClass || f.class > x.class) {
		return x, PathExpress
	}
	if r.budgets[PathAged] > 0 {
		if x := r.oldest(now); x != nil {
			return x, PathAged
		}
	}
	if f != nil {
		return f, PathTier
	}
	return r.leader(true), PathTier
}

// smallest returns the express flow with the least to do, of all tiers.
func (r *Resource) smallest() *flow {
	var best *flow
	for m := r.occupied; m != 0; m &= m - 1 {
		f := r.tiers[bits.TrailingZeros8(m)].smallest()
		if f != nil && (best == nil || f.class < best.class || f.class == best.class && f.lastServed < best.lastServed) {
			best = f
		}
	}
	return best
}

// leader returns the next flow of the tier with the lowest tag, of those that have one. Tiers
// in which the slot guard has set all flows aside count only if held is set.
func (r *Resource) leader(held bool) *flow {
	var best *tier
	for m := r.occupied; m != 0; m &= m - 1 {
		t := &r.tiers[bits.TrailingZeros8(m)]
		if t.flows == t.asked || !held && t.flows == t.asked+t.held {
			continue
		}
		if best == nil || t.tag < best.tag {
			best = t
		}
	}
	if best == nil {
		return nil
	}
	return best.next()
}

// oldest returns the flow that has waited longest in relation to its tier's AgedAfter.
func (r *Resource) oldest(now int64) *flow {
	var best *flow
	most := 1.0
	for m := r.occupied; m != 0; m &= m - 1 {
		t := &r.tiers[bits.TrailingZeros8(m)]
		f := t.turn.first
		if f == nil || now-f.lastServed <= t.agedAfter {
			continue
		}
		if w := float64(now-f.lastServed) / float64(t.agedAfter); w > most {
			best, most = f, w
		}
	}
	return best
}

// entryOf returns the entry of f that is served next. It returns nil if f may not be served
// after all; then f or the entry that blocked it has been moved.
func (q *Queue) entryOf(now int64, f *flow, path Path) *Entry {
	t := f.tenant
	if t.blocked() || f.shut(now) {
		q.takeOut(now, f, flowParked)
		return nil
	}
	if f.state == flowActive && q.exceeds(now, f, path) {
		q.hold(f)
		return nil
	}
	if e := q.urgentOf(now, f); e != nil {
		return e
	}
	by := byScore
	if int(f.picks) >= smallestEvery-1 {
		by = byRemaining
	}
	for f.inTree() {
		e := f.heaps[by][0]
		if !e.bulk.party.absent(now) {
			if e.bulk.state == bulkRunning && !e.bulk.atCap() {
				return e.latest(by)
			}
		} else {
			e.bulk.party.park(e)
		}
		q.dequeue(now, e)
	}
	return nil
}

// exceeds reports whether f has its whole share of what is scarce, and has to wait for flows
// that have less. Small work is owed more than it is about to use.
func (q *Queue) exceeds(now int64, f *flow, path Path) bool {
	if (q.tight() || q.overdrawn(f) || f.tier.r.hangs(now) || q.guarded() && path != PathAged && f.class == noClass) &&
		q.atShare(f.tenant) {
		return true
	}
	return f.class == noClass && f.atDue()
}

// atDue reports whether f has its whole share of the tasks that may be in flight.
func (f *flow) atDue() bool {
	r := f.tier.r
	bound := r.gate.Bound()
	return bound > 0 && float64(f.inFlight) >= max(1, math.Ceil(float64(bound)*r.claim(f)/float64(max(r.weight, 1))))
}

// latest returns the last step of e's bulk action that could be served in e's place. The order by
// score has it first already.
func (e *Entry) latest(by int) *Entry {
	best := e
	if by == byScore || e.bulk.first.next == nil {
		return best
	}
	for o := e.bulk.first; o != nil; o = o.next {
		if o.flow == e.flow && o.queued() && o.step > best.step {
			best = o
		}
	}
	return best
}

// commit counts the pick and charges flow, tier and resource for it.
func (q *Queue) commit(now int64, e *Entry, cost int64, path Path) {
	f := e.flow
	r := f.tier.r
	if path == PathTier {
		r.earn(float64(cost))
	} else {
		r.budgets[path] -= float64(cost)
	}
	if path != PathExpress {
		f.tier.charge(cost) // the aged path changes the order, not the shares
	}
	r.waitForWorker(now, false)
	e.side.countBusy(now)
	e.side.served(now, f, cost)
	f.tier.serve(now, f, cost, path)
	f.picked(e)
	if f.tier.v > rebaseAt {
		q.rebase(f.tier)
	}
	q.countTask(e, 1)
	if e.bulk.shard {
		q.seq++
		e.seq = q.seq
	}
	if r.speed.start(now, cost, r.backlog > cost) {
		q.resize(r)
	}
	r.cause = CauseNone
	q.vSlots = r.slotTag
	r.slotTag += max(r.service>>10, 1) * Unit / max(r.slotWeight, 1)
	key := r.slotTag
	if f.state == flowHeld {
		key += aboveShare
	}
	q.ready.rekey(r, key)
}

// crowded reports whether all workers of r have a task, apart from the reserve.
func (r *Resource) crowded(now int64) bool { return r.workers >= 0 && r.taken(now) >= r.workers }

// chargeSlow charges a flow for a task that took longer than is usual on its resource, as for
// more items, while slots, or the tasks that the resource allows in flight, are scarce: then
// time is what is shared.
func (q *Queue) chargeSlow(e *Entry, cost, service int64) {
	f := e.flow
	r := f.tier.r
	if usual := r.median; service > usual && usual > 0 && (q.guarded() || q.scarce(r)) {
		more := min(float64(service-usual)/float64(usual), mostSlow)
		f.tag += perWeight(int64(float64(cost)*more), f.weight)
	}
}

// scarce reports whether only a few more tasks may be in flight on r.
func (q *Queue) scarce(r *Resource) bool {
	bound := r.gate.Bound()
	return bound > 0 && float64(bound-r.inFlight) < guardBelow*float64(bound)
}

// mostSlow bounds that charge, as a multiple of the task's items.
const mostSlow = 1000
