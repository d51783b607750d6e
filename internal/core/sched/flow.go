package sched

import "math/bits"

type flowState uint8

const (
	flowIdle   flowState = iota // nothing eligible
	flowActive                  // in its tier's main heap
	flowHeld                    // in its tier's second heap: it has its share of the slots, or of its resource
	flowParked                  // eligible, but the tenant is paused or at its cap
	flowAsked                   // all its work was picked, and its party has not reported yet what is left
)

// classes is the number of classes of express flows: up to 1 chunk, 2, 4 and so on to
// 64, and more.
const classes = 8

// noClass is the class of a flow that is not express.
const noClass = -1

// flow is the work of one tenant on one resource in one tier.
type flow struct {
	tenant     *Tenant
	tier       *tier
	next       *flow // of the same tenant
	tag        int64
	heapKey    int64 // key of the one heap item that is valid
	weight     int64
	backlog    int64 // items of the queued entries
	lastServed int64
	slotMark   int64 // Resource.slotWait when it was served last
	taken      int64 // items picked since it was made
	slotPart   int64 // of the tenant's weight, for the resource's share of the slots
	links      [2]links
	heaps      [2]entryHeap // byScore, byRemaining
	agenda     *agenda      // nil: no deadlines

	ended     uint32 // tasks, counted
	refused   uint32 // number of the last refused one; 0: none
	inFlight  int32  // tasks
	stalled   int32  // of those
	refs      uint32 // entries made for this flow and not removed
	dead      uint32 // queued entries of removed bulk actions
	away      uint32 // entries that are set aside
	busy      uint32 // busy period of the tier in which the flow became idle
	picks     uint8  // counts towards the next pick of the smallest
	state     flowState
	class     int8
	lingering bool
}

// inTree reports whether f can be picked.
func (f *flow) inTree() bool { return f.state == flowActive || f.state == flowHeld }

// counted reports whether f shares the resource.
func (f *flow) counted() bool { return f.inTree() || f.state == flowAsked }

// grow changes the backlog of f.
func (f *flow) grow(by int64) {
	f.backlog += by
	if f.counted() {
		f.tier.r.backlog += by
	}
}

// flowOf returns the flow of t on r, and adds it if it is missing.
func (q *Queue) flowOf(t *Tenant, r *Resource, k int) *flow {
	for f := t.flows; f != nil; f = f.next {
		if f.tier == &r.tiers[k] {
			return f
		}
	}
	f := &flow{tenant: t, tier: &r.tiers[k], weight: t.weightOn(r), class: noClass, next: t.flows}
	f.tag = f.tier.v - perWeight(r.small, f.weight)
	t.flows = f
	return f
}

// owed returns the lowest tag that f may have: a flow with little to do keeps the service it
// missed, up to one quantum.
func (f *flow) owed() int64 {
	if r := f.tier.r; f.backlog <= r.small {
		return f.tier.v - perWeight(r.small, f.weight)
	}
	return f.tier.v
}

// activate puts f into the tree. A flow that was idle and has little to do gets credit for the
// service it missed, up to one quantum; other flows get no credit.
func (q *Queue) activate(now int64, f *flow, credit bool) {
	f.wants(now, true)
	if f.tenant.blocked() {
		f.state = flowParked
		f.tenant.parked++
		return
	}
	q.stopLingering(f)
	f.state = flowActive
	reweigh(f.tenant, f.tier.r, f)
	least := f.tier.v
	if credit {
		least = f.owed()
	}
	f.tag = max(f.tag, least)
	f.lastServed = now
	f.slotMark = f.tier.r.slotWait(now)
	f.tier.push(f)
	f.tier.turn.pushBack(f, inTurn)
	q.countIn(f)
	q.classify(f)
	q.arrived(f.tier.r)
	q.advance(f.tier.r)
}

// countIn and countOut maintain the sums that depend on f's presence in the tree.
func (q *Queue) countIn(f *flow) {
	t := f.tenant
	f.tier.enter(f)
	was := t.present()
	t.active++
	t.split()
	q.countPresent(t, was)
	f.tier.r.guardTiers()
}

func (q *Queue) countOut(f *flow) {
	t := f.tenant
	f.tier.exit(f)
	t.active--
	t.split()
	q.countPresent(t, true)
}

// takeOut removes f from the tree; it becomes idle or parked.
func (q *Queue) takeOut(now int64, f *flow, state flowState) {
	if f.state == flowAsked {
		q.unask(f)
	} else {
		q.unlist(f)
	}
	f.state = state
	f.busy = f.tier.busy
	q.countOut(f)
	reweigh(f.tenant, f.tier.r, nil)
	f.tier.r.guardTiers() // after both have changed the sums
	if state == flowParked {
		f.tenant.parked++
	} else {
		f.wants(now, false)
		if f.refs == 0 {
			q.startLingering(f)
		}
	}
	if r := f.tier.r; r.active == 0 {
		r.waitForWorker(now, false)
		q.setEmpty(r)
		r.gate.Idle(now)
	}
}

// unlist removes f from the lists that flows are picked from. Its heap drops the stale item
// later.
func (q *Queue) unlist(f *flow) {
	q.unhold(f)
	f.tier.turn.remove(f, inTurn)
	f.setClass(noClass)
}

// ask keeps f's place in the tree until its party reports what is left.
func (q *Queue) ask(f *flow) {
	if f.inTree() {
		q.unlist(f)
		f.state = flowAsked
		f.tier.asked++
		f.tier.asks.pushBack(f, inTurn)
	}
}

// unask ends what ask began, and wakes the resource if it waited for the report.
func (q *Queue) unask(f *flow) {
	f.tier.asked--
	f.tier.asks.remove(f, inTurn)
	if r := f.tier.r; r.state == resourceSleeping && r.cause == CauseFairShare {
		q.setReady(r)
	}
}

// answerWithin bounds how long the queue waits for the report of a flow that is owed service.
const answerWithin = int64(1e6)

// awaited returns until when f waits for asked flows that are owed service before it, or a past
// time if it need not wait. Without this wait, a party with small tasks would get only one of
// them each time a large task of another party fits.
func (f *flow) awaited(now int64, cost int) (until int64) {
	lead := f.tag - perWeight(int64(cost), f.weight)
	for x := f.tier.asks.first; x != nil; x = x.links[inTurn].next {
		if x.tag < lead {
			until = max(until, x.lastServed+answerWithin)
		}
	}
	return until
}

// answer lets f be picked again. Other flows may have gone ahead meanwhile; f first gets what
// it missed, up to one quantum.
func (q *Queue) answer(now int64, f *flow) {
	if f.tenant.blocked() {
		q.takeOut(now, f, flowParked)
		return
	}
	q.unask(f)
	f.state = flowActive
	f.tag = max(f.tag, f.tier.v-perWeight(f.tier.r.small, f.weight))
	f.tier.push(f)
	f.tier.turn.pushBack(f, inTurn)
	q.classify(f)
	q.arrived(f.tier.r)
	q.advance(f.tier.r)
}

// settle takes f out of the tree if it has no entries left, queued or set aside.
func (q *Queue) settle(now int64, f *flow) {
	if f.state == flowAsked && f.away == 0 {
		q.takeOut(now, f, flowIdle)
	}
}

// arrived makes r ready if it had nothing to do, or if only its reserve of workers is left,
// which is for new work.
func (q *Queue) arrived(r *Resource) {
	if (r.state == resourceEmpty || r.waitsForSlot()) && r.runnable() {
		q.setReady(r)
	}
}

// reweigh sets the weights of t's flows on r: a tenant that is active in several tiers has its
// weight divided between them. It updates the sums of the tiers, except for fresh, which is not
// counted yet.
func reweigh(t *Tenant, r *Resource, fresh *flow) {
	sum := int64(0)
	for f := t.flows; f != nil; f = f.next {
		if f.tier.r == r && f.counted() {
			sum += f.tier.base
		}
	}
	for f := t.flows; f != nil; f = f.next {
		if f.tier.r != r {
			continue
		}
		w := t.weightOn(r)
		if f.counted() {
			w = max(1, w*f.tier.base/sum)
			if f != fresh {
				f.tier.weight += w - f.weight
				r.weight += w - f.weight
			}
		}
		f.weight = w
	}
}

// classify puts f into its express list, if any: all of its backlog must fit into service that
// fair sharing would already have given it. As its backlog shrinks, f moves to lists that are
// served earlier, unless the tier is crowded.
func (q *Queue) classify(f *flow) {
	r := f.tier.r
	if f.backlog > r.small || f.state != flowActive || f.tag+perWeight(f.backlog, f.weight) > f.tier.v {
		f.setClass(noClass)
		return
	}
	class := int8(min(bits.Len64(uint64((f.backlog-1)/r.chunk)), classes-1))
	if f.tier.crowded() {
		class = max(class, f.class)
	}
	f.setClass(class)
	if (r.state == resourceSleeping || r.state == resourceWaiting) && r.runnable() && r.passes(f) {
		q.setReady(r)
	}
}

// passes reports whether the gate of r may let f pass although it has refused: the refused task
// was larger than all that f has to do.
func (r *Resource) passes(f *flow) bool { return r.blocker != nil && f.backlog < int64(r.blockedAs) }

func (f *flow) setClass(c int8) {
	if f.class == c {
		return
	}
	t := f.tier
	if f.class != noClass {
		t.express[f.class].remove(f, inExpress)
		if t.express[f.class].first == nil {
			t.filled &^= 1 << f.class
		}
		t.small--
	}
	f.class = c
	if c != noClass {
		t.express[c].pushBack(f, inExpress)
		t.filled |= 1 << c
		t.small++
	}
}

// hold sets f aside because it has more than its share of the slots, or of the tasks that its
// resource allows in flight.
func (q *Queue) hold(f *flow) {
	f.setClass(noClass)
	f.state = flowHeld
	f.tier.held++
	f.tenant.held++
	f.tier.push(f)
}

func (q *Queue) unhold(f *flow) {
	if f.state == flowHeld {
		f.state = flowActive
		f.tier.held--
		f.tenant.held--
	}
}

// startLingering keeps f, which has no entries, for as long as its tag is higher than that of a
// new flow. Otherwise a tenant would gain by leaving and coming back.
func (q *Queue) startLingering(f *flow) {
	f.lingering = true
	f.tier.linger.pushBack(f, inTurn)
	q.sweep(f.tier)
}

func (q *Queue) stopLingering(f *flow) {
	if f.lingering {
		f.lingering = false
		f.tier.linger.remove(f, inTurn)
	}
}

// sweep drops up to two lingering flows that need not stay. It runs whenever one is
// added, so few remain.
func (q *Queue) sweep(t *tier) {
	for range 2 {
		f := t.linger.first
		if f == nil {
			return
		}
		if f.busy == t.busy && f.tag > t.v-perWeight(t.r.small, f.weight) {
			t.linger.moveToBack(f, inTurn)
			continue
		}
		q.stopLingering(f)
		f.tenant.drop(f)
		q.forget(f.tenant)
	}
}
