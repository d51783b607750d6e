package sched

import "math"

// What a flow with deadlines can do by then is measured, or follows from its share of a limit.

const (
	// rateMemory is the memory of a flow's measured rate, and sureRate the time after which the
	// measured rate counts for more than the flow's share. Both are longer where tasks take
	// long.
	rateMemory, sureRate       = int64(10e9), int64(5e9)
	rateMemoryTasks, sureTasks = 8, 4
	// trusted is the part of its share that a flow must get for its share to count.
	trusted = 0.85
)

// measure learns how fast f progresses while it has something to run. It ignores times in which
// the downstream could not be called, and those before the last change of f's share.
func (q *Queue) measure(now int64, f *flow) {
	a, r := f.agenda, f.tier.r
	f.wants(now, false)
	f.wants(now, f.state != flowIdle)
	took, items := a.wanted, f.taken-a.taken
	a.planned, a.wanted, a.taken = now, 0, f.taken
	if share := f.share(); share > 0 && (share < trusted*a.share || a.share < trusted*share) {
		a.share, a.sure = share, 0
	}
	beside := r.copies[f.tenant.name]
	idle := took <= 0 || beside.part() < beside.even()/2 // nearly all of its tenant's weight is elsewhere
	down := (r.state == resourceSleeping || r.state == resourceWaiting) && r.cause.Down()
	if idle || down || f.shut(now) || f.tenant.paused {
		return
	}
	a.sure += took
	memory := min(max(rateMemory, rateMemoryTasks*r.Service()), a.sure)
	rate := float64(items) / (float64(took) * 1e-9) / beside.part()
	a.rate += (rate - a.rate) * min(1, float64(took)/float64(memory))
}

// share returns how many items per second f should get by the limit, of all nodes; 0: unknown.
func (f *flow) share() float64 {
	if r := f.tier.r; f.counted() {
		return r.rate * r.portion(f) / r.copies[f.tenant.name].part()
	}
	return 0
}

// rates returns how many items per second f gets if its tenant has as much of all nodes, and
// how many it could get if its deadlines needed them. Its share of the limit counts, unless it
// was seen for a while to get less. Without a limit, no bound applies until the rate was
// measured.
func (f *flow) rates() (even, best float64) {
	a, r := f.agenda, f.tier.r
	share, beside := f.share(), r.copies[f.tenant.name]
	sure := a.sure >= max(sureRate, sureTasks*r.Service()) && (r.Service() > 0 || f.taken == 0)
	even, best = a.rate, a.rate
	switch {
	case share > 0 && (!sure || a.rate > trusted*share):
		even, best = max(a.rate, share), max(a.rate, share)
	case sure:
	case r.rate > 0:
		best = r.rate
	default:
		best = math.Inf(1)
	}
	if r.rate == 0 { // each node has its own workers: nothing can be moved
		return even * beside.even(), best * beside.even()
	}
	return even * beside.even(), beside.best(best)
}
