package sched

import "math"

// Take reserves what a task of e needs, out of turn: for the rare task that has to run at a
// certain moment. Limits and caps hold, and the tenant is not charged. If it refuses, at is
// when asking again makes sense, math.MaxInt64 if that is unknown.
func (q *Queue) Take(now int64, e *Entry, cost int) (p Pick, at int64, ok bool) {
	now = q.at(now)
	if at, ok := q.Open(now, e); !ok {
		return Pick{}, at, false
	}
	r := e.flow.tier.r
	if at, ok := r.gate.Take(now, cost); !ok {
		return Pick{}, at, false
	}
	e.side.countBusy(now)
	q.countTask(e, 1)
	return Pick{Entry: e, Cost: cost, Path: PathTier, At: now, Start: now, no: q.depart(now, e), Level: int32(r.inFlight)}, now, true
}

// Open reports whether a task of e could be taken now, apart from rates and concurrency. If
// not, at is when asking again makes sense, as for Take.
func (q *Queue) Open(now int64, e *Entry) (at int64, ok bool) {
	g, f := e.bulk, e.flow
	r := f.tier.r
	if q.tight() || r.workers >= 0 && r.inFlight >= r.workers || g.state != bulkRunning || g.atCap() ||
		g.tenant.blocked() || f.shut(now) {
		return math.MaxInt64, false
	}
	return now, true
}
