package retry

import (
	"math"
	"slices"
	"sort"
	"time"
)

const (
	// Slot is the grain of a Plan.
	Slot = 100 * time.Millisecond
	// Share is the part of a resource's rate that retries may take.
	Share = 0.20

	// rounding is how far sums of costs may be off.
	rounding = 1e-9
	// maxRuns bounds a plan's memory, to 256 KiB.
	maxRuns = 4096
	// lastSlot keeps times within an int64, however slow a resource is.
	lastSlot = math.MaxInt64/int64(Slot) - 1
	// minRoom of a slot is cost 1 in 28 hours. It keeps divisions finite.
	minRoom = 1e-6
)

// Plan spreads the retries of one resource over slots. A slot takes tasks up to
// its room, Share x rate x Slot of cost. A task that costs more than that is the
// only one to start in its slot and uses up the room of the following slots as
// well, so the share holds over time for tasks of any size.
//
// A slot that once had no room for a task is closed to all later ones: a task
// never overtakes another of the same due time, and no slot is looked at twice.
//
// The zero value is an empty plan.
type Plan struct {
	runs []run // ascending; each one's tail is below the next one's from
	past int   // runs before this index are over
}

// run is a stretch of closed slots, from up to but without tail, and the open
// slot tail behind it.
type run struct {
	from, tail int64
	used       float64 // room used in tail
	taken      bool    // a task starts in tail; otherwise used is left over from earlier ones
}

// Reserve finds room for a task and returns when it may start: at the first
// slot boundary from due on (from now on, if due is past) whose slot has room
// for cost. Times are unix nanoseconds. With a rate of 0, unlimited, that is due
// itself. Calls must come in order of now.
func (p *Plan) Reserve(now, due int64, cost int, rate float64) int64 {
	if rate <= 0 {
		return due
	}
	p.forget(now / int64(Slot))
	room := max(Share*rate*Slot.Seconds(), minRoom)
	i := p.find(slotFrom(max(due, now)))
	p.open(i, float64(cost), room)
	start := p.runs[i].tail
	p.charge(i, float64(cost), room)
	return start * int64(Slot)
}

// slotFrom returns the first slot that starts at t or later.
func slotFrom(t int64) int64 {
	slot := t / int64(Slot)
	if t%int64(Slot) > 0 {
		slot++
	}
	return min(slot, lastSlot)
}

// fits reports whether a task of that cost may start in the run's open slot.
func (r *run) fits(cost, room float64) bool {
	switch {
	case r.tail >= lastSlot:
		return true
	case !r.taken && r.used < room*(1-rounding):
		return true
	}
	return r.used+cost <= room*(1+rounding)
}

// open closes slots of run i until a task of that cost fits into the open one and
// the free slots behind it.
func (p *Plan) open(i int, cost, room float64) {
	for {
		r, free := &p.runs[i], p.free(i)
		switch {
		case !r.fits(cost, room):
			p.close(i, 1, 0)
		case i+1 < len(p.runs) && r.used+cost > room*float64(free)*(1+rounding):
			p.close(i, free, 0)
		default:
			return
		}
	}
}

// free returns the number of slots from the tail of run i to the next run.
func (p *Plan) free(i int) int64 {
	if i+1 < len(p.runs) {
		return p.runs[i+1].from - p.runs[i].tail
	}
	return lastSlot - p.runs[i].tail
}

// find returns the index of the run that slot belongs to; if it belongs to
// none, of a new one.
func (p *Plan) find(slot int64) int {
	n := len(p.runs) - p.past
	i := p.past + sort.Search(n, func(k int) bool { return p.runs[p.past+k].from > slot })
	switch {
	case i > p.past && slot <= p.runs[i-1].tail:
		return i - 1
	case n < maxRuns:
		p.runs = slices.Insert(p.runs, i, run{from: slot, tail: slot})
		return i
	case i < len(p.runs): // too many: rather than add a run, make a neighbour longer
		p.runs[i].from = slot
		return i
	}
	p.close(i-1, slot-p.runs[i-1].tail, 0)
	return i - 1
}

// close closes the next n slots of run i; used is what is used of the slot
// behind them. If the run then reaches the next one, they become one.
func (p *Plan) close(i int, n int64, used float64) {
	r := &p.runs[i]
	r.tail, r.used, r.taken = r.tail+n, used, false
	if i+1 < len(p.runs) && r.tail == p.runs[i+1].from {
		next := p.runs[i+1]
		r.tail, r.used, r.taken = next.tail, next.used, next.taken
		p.runs = slices.Delete(p.runs, i+1, i+2)
	}
}

// charge lets a task start in the open slot of run i. What it costs above the
// slot's room comes out of the free slots that follow.
func (p *Plan) charge(i int, cost, room float64) {
	r := &p.runs[i]
	r.taken = true
	r.used += cost
	full := min(math.Floor(r.used/room+rounding), float64(p.free(i)))
	if full > 0 {
		p.close(i, int64(full), max(0, r.used-full*room))
	}
}

// forget drops the runs that end before slot.
func (p *Plan) forget(slot int64) {
	for p.past < len(p.runs) && p.runs[p.past].tail < slot {
		p.past++
	}
	if p.past > 0 && p.past*2 >= len(p.runs) { // each run is moved at most once per halving
		p.runs = slices.Delete(p.runs, 0, p.past)
		p.past = 0
	}
}
