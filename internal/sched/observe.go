package sched

import (
	"math"
	"math/bits"

	"github.com/weirhq/weir/internal/planted"
)

// Scaler is a [Gate] that bounds the tasks in flight by a number of workers.
type Scaler interface {
	SetWorkers(now int64, n int)
}

// SetWorkers bounds the tasks in flight on r by a number of workers; below 0
// means unbounded. Tasks above a lowered number run to their end.
func (q *Queue) SetWorkers(now int64, r *Resource, n int) {
	if planted.Is(planted.WorkersExceeded) && n >= 0 {
		n++
	}
	r.workers = n
	switch g := r.gate.(type) {
	case *ownGate:
		g.workers = n
	case Scaler:
		g.SetWorkers(now, n)
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
		q.slots = sum // the slot guard is to see how few there are
	}
	q.WakeResource(now, r)
}

// Load is what a resource had to do since it was last looked at.
type Load struct {
	// Backlog is the number of items that could be picked if the gate allowed it.
	Backlog int64
	// Weight is the weight of the tenants behind them.
	Weight int64
	// InFlight is the number of tasks in flight, and Busy the mean of it.
	InFlight int
	Busy     float64
	// Wait50 and Wait99 are quantiles of the time that the next task of a tenant
	// waited because no worker was free, in nanoseconds. Waiting for a limit, or
	// for the turn of others while workers were free, is no part of it.
	Wait50, Wait99 int64
	// Oldest is how long the tenant that was served longest ago has waited.
	Oldest int64
	// Cause is what is in the way now.
	Cause Cause
	// Taken is how many items were picked, and Top are the tenants with the most left to pick.
	Taken int64
	Top   []TenantLoad
}

// Observe returns what r had to do since the last Observe.
func (q *Queue) Observe(now int64, r *Resource) Load {
	r.waitForWorker(now, r.slotSince != 0)
	if r.slotSince != 0 && r.watch.count == 0 { // nobody was served: those who wait say how long
		r.watch.add(r.slotWait(now) - r.slotSeen)
	}
	r.countBusy(now)
	l := Load{
		Backlog: r.backlog, Weight: r.weight, InFlight: r.inFlight, Cause: r.inTheWay(),
		Wait50: r.watch.quantile(0.5), Wait99: r.watch.quantile(0.99), Taken: r.taken, Top: r.top(),
	}
	if span := now - r.observed; span > 0 {
		l.Busy = float64(r.busyTime) / float64(span)
	}
	for k := range r.tiers {
		if f := r.tiers[k].turn.first; f != nil {
			l.Oldest = max(l.Oldest, now-f.lastServed)
		}
	}
	r.watch, r.taken = waitCounts{}, 0
	r.busyTime, r.observed, r.slotSeen = 0, now, r.slotWait(now)
	return l
}

// inTheWay is why nothing of r starts now.
func (r *Resource) inTheWay() Cause {
	switch {
	case r.slotSince != 0:
		return CauseSlots
	case r.state == resourceSleeping || r.state == resourceWaiting:
		return r.cause
	}
	return CauseNone
}

// waitForWorker notes whether work waits on r for want of a worker.
func (r *Resource) waitForWorker(now int64, waits bool) {
	switch {
	case waits && r.slotSince == 0:
		r.slotSince = now
	case !waits && r.slotSince != 0:
		r.slotWaited += now - r.slotSince
		r.slotSince = 0
	}
}

// slotWait is for how long, in all, work has waited on r for want of a worker.
func (r *Resource) slotWait(now int64) int64 {
	if r.slotSince != 0 {
		return r.slotWaited + now - r.slotSince
	}
	return r.slotWaited
}

// countBusy adds the tasks in flight to the time that workers were busy.
func (r *Resource) countBusy(now int64) {
	if r.busySince == 0 {
		r.observed = now // it begins here
	}
	r.busyTime += int64(r.inFlight) * (now - r.busySince)
	r.busySince = now
}

// served notes how long f waited for a worker since it was served last, and what it got.
func (r *Resource) served(now int64, f *flow, cost int64) {
	f.taken += cost
	r.taken += cost
	waited := r.slotWait(now)
	r.watch.add(waited - f.slotMark)
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

// quantile is the upper end of the grade in which the quantile lies.
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

// upTo is the least wait that is above grade g, 0 for the shortest.
func upTo(g int) int64 {
	if g == 0 {
		return 0
	}
	k, sub := g>>gradeBits, g&(1<<gradeBits-1)
	return int64(1<<gradeBits+sub) << k << (shortestWait - gradeBits)
}
