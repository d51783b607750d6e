package sched

import (
	"math"
	"math/bits"
	"slices"
)

// Side is the state of a resource for one party.
type Side struct {
	party    *Party
	r        *Resource
	workers  int // given to the party; below 0: no bound
	inFlight int
	queued   int64 // items of its queued entries

	// Results of Observe.
	watch     waitCounts
	taken     int64 // items picked since the last Observe
	slotSeen  int64 // Resource.slotWait at the last Observe
	busyTime  int64
	busySince int64
	observed  int64
}

// side returns p's side of r, and adds it if it is missing.
func (p *Party) side(r *Resource) *Side {
	for _, s := range p.sides {
		if s.r == r {
			return s
		}
	}
	s := &Side{party: p, r: r, workers: -1}
	p.sides = append(p.sides, s)
	r.sides = append(r.sides, s)
	return s
}

// SetWorkers bounds the tasks in flight on r by a number of workers; below 0
// means unbounded. Tasks above a lowered number run to their end.
func (q *Queue) SetWorkers(now int64, r *Resource, n int) { q.own.SetWorkers(now, r, n) }

// SetWorkers sets the number of workers that p contributes to r; an unbounded contribution
// lifts the bound of r.
func (p *Party) SetWorkers(now int64, r *Resource, n int) {
	p.side(r).workers = n
	p.q.countWorkers(p.q.at(now), r)
}

// countWorkers adds up the workers of r, and the slots of all workers.
func (q *Queue) countWorkers(now int64, r *Resource) {
	r.workers = 0
	for _, s := range r.sides {
		if s.workers < 0 {
			r.workers = -1
			break
		}
		r.workers += s.workers
	}
	if len(r.sides) == 0 {
		r.workers = -1
	}
	q.slots = q.opt.Slots
	sum := 0
	for _, o := range q.resources {
		if o.workers < 0 {
			sum = math.MaxInt32
			break
		}
		sum += o.workers
	}
	if sum > 0 && (q.slots == 0 || sum < q.slots) {
		q.slots = sum // the slot guard must see how few there are
	}
	q.WakeResource(now, r)
}

// dropSide removes the side of a party that leaves.
func (q *Queue) dropSide(now int64, s *Side) {
	r := s.r
	r.sides = slices.DeleteFunc(r.sides, func(o *Side) bool { return o == s })
	q.countWorkers(now, r)
}

// Load describes the work of a resource since the last Observe.
type Load struct {
	// Backlog is the number of items that could be picked if the gate allowed it.
	Backlog int64
	// Weight is the weight of the tenants with these items.
	Weight int64
	// InFlight is the number of tasks in flight, and Busy their mean.
	InFlight int
	Busy     float64
	// Wait50 and Wait99 are quantiles of the time that the next task of a tenant waited because
	// no worker was free, in nanoseconds. Waiting for a limit, or behind other tenants while
	// workers were free, does not count.
	Wait50, Wait99 int64
	// Oldest is how long the least recently served tenant has waited.
	Oldest int64
	// Cause is what blocks the resource now.
	Cause Cause
	// Taken is the number of items picked, and Top lists the tenants with the most left to
	// pick.
	Taken int64
	Top   []TenantLoad
}

// Observe returns the work of r since the last Observe.
func (q *Queue) Observe(now int64, r *Resource) Load { return q.own.Observe(now, r) }

// Observe returns p's work on r since its last Observe. Backlog and weight are p's part of the
// whole by its queued entries; figures that do not divide by party go to the first one.
func (p *Party) Observe(now int64, r *Resource) Load {
	now = p.q.at(now)
	s := p.side(r)
	r.waitForWorker(now, r.slotSince != 0)
	if r.slotSince != 0 && s.watch.count == 0 && s.queued > 0 { // no task was served: those that wait show how long
		s.watch.add(r.slotWait(now) - s.slotSeen)
	}
	s.countBusy(now)
	l := Load{
		Backlog: s.part(r.backlog), Weight: s.part(r.weight), InFlight: s.inFlight, Cause: r.inTheWay(),
		Wait50: s.watch.quantile(0.5), Wait99: s.watch.quantile(0.99), Taken: s.taken,
	}
	if r.sides[0] == s {
		l.Top = r.top()
	}
	if span := now - s.observed; span > 0 {
		l.Busy = float64(s.busyTime) / float64(span)
	}
	for k := range r.tiers {
		if f := r.tiers[k].turn.first; f != nil {
			l.Oldest = max(l.Oldest, now-f.lastServed)
		}
	}
	s.watch, s.taken = waitCounts{}, 0
	s.busyTime, s.observed, s.slotSeen = 0, now, r.slotWait(now)
	return l
}

// part returns s's part of a figure of the resource, by its queued entries.
func (s *Side) part(whole int64) int64 {
	switch s.queued {
	case s.r.queued:
		return whole
	case 0:
		return 0
	}
	return int64(math.Ceil(float64(whole) * float64(s.queued) / float64(s.r.queued)))
}

// inTheWay returns why nothing of r starts now.
func (r *Resource) inTheWay() Cause {
	switch {
	case r.slotSince != 0:
		return CauseSlots
	case r.state == resourceSleeping || r.state == resourceWaiting:
		return r.cause
	}
	return CauseNone
}

// waitForWorker records whether work on r waits because no worker is free.
func (r *Resource) waitForWorker(now int64, waits bool) {
	switch {
	case waits && r.slotSince == 0:
		r.slotSince = now
	case !waits && r.slotSince != 0:
		r.slotWaited += now - r.slotSince
		r.slotSince = 0
	}
}

// slotWait returns how long in total work on r has waited because no worker was free.
func (r *Resource) slotWait(now int64) int64 {
	if r.slotSince != 0 {
		return r.slotWaited + now - r.slotSince
	}
	return r.slotWaited
}

// countBusy adds the tasks in flight to the time that workers were busy.
func (s *Side) countBusy(now int64) {
	if s.busySince == 0 {
		s.observed = now // observation starts here
	}
	s.busyTime += int64(s.inFlight) * (now - s.busySince)
	s.busySince = now
}

// served records how long f waited for a worker since it was last served, and what it got.
func (s *Side) served(now int64, f *flow, cost int64) {
	f.taken += cost
	s.taken += cost
	waited := s.r.slotWait(now)
	s.watch.add(waited - f.slotMark)
	f.slotMark = waited
}

// waitCounts counts waits by their length: four grades for each doubling, from
// 64 microseconds on.
type waitCounts struct {
	grades [96]uint32
	count  uint32
}

const (
	shortestWait = 16 // 2^16 ns
	gradeBits    = 2
)

func (w *waitCounts) add(wait int64) {
	w.count++
	w.grades[gradeOf(wait)]++
}

func gradeOf(wait int64) int {
	u := uint64(max(wait, 0)) >> (shortestWait - gradeBits)
	if u < 1<<gradeBits {
		return 0
	}
	k := bits.Len64(u) - 1 - gradeBits
	return min(k<<gradeBits+int(u>>k)-1<<gradeBits+1, 95)
}

// quantile returns the upper end of the grade in which the quantile lies.
func (w *waitCounts) quantile(q float64) int64 {
	if w.count == 0 {
		return 0
	}
	rank := uint32(math.Ceil(q * float64(w.count)))
	seen := uint32(0)
	for g, n := range w.grades {
		if seen += n; seen >= rank {
			return upTo(g)
		}
	}
	return upTo(len(w.grades) - 1)
}

// upTo returns the least wait above grade g, 0 for the shortest.
func upTo(g int) int64 {
	if g == 0 {
		return 0
	}
	k, sub := g>>gradeBits, g&(1<<gradeBits-1)
	return int64(1<<gradeBits+sub) << k << (shortestWait - gradeBits)
}
