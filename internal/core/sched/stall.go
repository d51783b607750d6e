package sched

import "math"

// A call that runs much longer than is usual on its resource has stalled. It still counts towards what its tenant and its
// resource have in flight, but it no longer holds a slot of the node, nor a worker of its resource while other calls
// there end. At most as many calls as the node has slots are treated this way.

const (
	// A call has stalled when it has run for stallAfter and for stallTimes the median of its resource.
	stallAfter = int64(500e6)
	stallTimes = 4
	// lookEvery is the time between two searches for stalled calls.
	lookEvery = int64(100e6)
)

// flight is a task in flight, or a free place for one, which has no entry.
type flight struct {
	entry   *Entry
	since   int64
	stalled bool
}

// depart records a task in flight and returns its number.
func (q *Queue) depart(now int64, e *Entry) int32 {
	x := flight{entry: e, since: now}
	if last := len(q.landed) - 1; last >= 0 {
		no := q.landed[last]
		q.landed = q.landed[:last]
		q.flights[no] = x
		return no
	}
	q.flights = append(q.flights, x)
	return int32(len(q.flights) - 1)
}

// land removes the record made by depart.
func (q *Queue) land(no int32) {
	x := &q.flights[no]
	if x.stalled {
		q.countStalled(x.entry, -1)
	}
	*x = flight{}
	q.landed = append(q.landed, no)
}

func (q *Queue) countStalled(e *Entry, by int) {
	q.stalled += by
	e.stalled += int32(by)
	e.flow.stalled += int32(by)
	e.flow.tier.r.stalled += by
	e.bulk.tenant.stalled += int32(by)
}

// look finds the tasks that have stalled.
func (q *Queue) look(now int64) {
	q.lookAt = now + lookEvery
	q.short = false
	for i := range q.flights {
		x := &q.flights[i]
		if x.entry == nil {
			continue
		}
		r := x.entry.flow.tier.r
		if !x.stalled && now-x.since >= r.patience() {
			x.stalled = true
			q.countStalled(x.entry, 1)
			if r.waitsForSlot() {
				q.setReady(r)
			}
		}
		q.short = q.short || r.waitsForSlot()
	}
}

// nextLook returns when to look for stalled calls again, math.MaxInt64 if no work waits for a slot or a worker.
func (q *Queue) nextLook() int64 {
	if q.tight() && q.ready.len() > 0 || q.short {
		return q.lookAt
	}
	return math.MaxInt64
}

// patience returns the run time after which a call of r has stalled.
func (r *Resource) patience() int64 { return max(stallTimes*r.median, stallAfter) }

// hangs reports whether calls of r have stalled and none has ended since.
func (r *Resource) hangs(now int64) bool { return r.stalled > 0 && now-r.ended >= r.patience() }

// taken returns how many workers of r are taken.
func (r *Resource) taken(now int64) int {
	if r.hangs(now) {
		return r.inFlight
	}
	return r.inFlight - r.stalled
}

func (r *Resource) waitsForSlot() bool { return r.state == resourceWaiting && r.cause == CauseSlots }

// overdrawn reports whether f has stalled calls and half of the slots were given up, or calls of its tenant
// have stalled and its resource has a call in flight for every worker. What stalled calls give up is for
// other tenants.
func (q *Queue) overdrawn(f *flow) bool {
	r := f.tier.r
	return f.stalled > 0 && 2*q.stalled >= q.slots || f.tenant.stalled > 0 && r.workers >= 0 && r.inFlight >= r.workers
}
