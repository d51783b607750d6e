package limit

import "math"

// A gate whose limit is shared between nodes has a quota: what this node may use of the limit,
// and until when. Beyond the quota of a rate, single permits may be used. The caller that sets
// them watches the gate with [Gate.Observe], and [Stirs] lists the gates to look at again.

// outside holds the quotas and the permit of a gate with shared limits.
type outside struct {
	rated  bool // the rate is a quota
	capped bool // the concurrency is a quota

	quota     int64 // items per window
	rateUntil int64 // when the quota of the rate lapses
	capUntil  int64 // when the quota of the concurrency lapses

	units       int64 // the rest of the permit
	from, until int64 // when it may be used

	alertRate bool // the next refusal for the rate is reported
	alertCap  bool // and the next for the concurrency
	listed    bool // is in Stirs
	stirs     *Stirs
}

// Use describes what goes through a gate and what could; see [Gate.Observe].
type Use struct {
	// Used is the number of items that started in the rate's window that ends now, without
	// permits.
	Used int64
	// InFlight is the number of tasks in flight.
	InFlight int
	// Busy reports whether tasks are waiting.
	Busy bool
	// Short is the time since which the rate holds tasks back, and Cramped the concurrency,
	// without having run out of work meanwhile; 0: it does not.
	Short, Cramped int64
	// Cost is the size in items of the task that made it Short.
	Cost int64
	// Permit is the rest of a permit that may still be used.
	Permit int64
}

// Stirs lists gates with shared limits that have changed and should be observed.
type Stirs struct{ gates []*Gate }

// Any reports whether the list has any gates.
func (s *Stirs) Any() bool { return len(s.gates) > 0 }

// Take appends to dst the gates on the list, and clears it.
func (s *Stirs) Take(dst []*Gate) []*Gate {
	for _, g := range s.gates {
		g.out.listed = false
	}
	dst = append(dst, s.gates...)
	clear(s.gates)
	s.gates = s.gates[:0]
	return dst
}

func (o *outside) stir(g *Gate) {
	if !o.listed {
		o.listed = true
		o.stirs.gates = append(o.stirs.gates, g)
	}
}

// Share marks the rate and the concurrency as shared with other nodes: from now on nothing
// starts without a quota. A limit that is not set is not shared; it is once it is set. A gate
// that is already shared does not change.
func (g *Gate) Share(to *Stirs) {
	if g.out == nil {
		g.out = &outside{stirs: to}
		g.shareRate()
		g.shareConcurrency()
	}
}

// shareRate makes a rate that was just set wait for its quota. The present quota and permit are
// part of the old rate.
func (g *Gate) shareRate() {
	if o := g.out; o != nil {
		o.rated, o.quota, o.rateUntil, o.units = g.lim.Rate() > 0, 0, math.MinInt64, 0
	}
}

// shareConcurrency does the same for the concurrency.
func (g *Gate) shareConcurrency() {
	if o := g.out; o != nil {
		o.capped, o.capUntil = g.bound < unbounded, math.MinInt64
	}
}

// SetQuota lets that many items start per window, until a time. Earlier starts still count: a
// lower quota waits until the window has drained to it. It reports whether more may start than
// before.
func (g *Gate) SetQuota(now, items, until int64) (more bool) {
	o := g.out
	more = (o.rateUntil <= now || items > o.quota) && until > now
	o.rateUntil = until
	if items != o.quota {
		o.quota = items
		if items > 0 {
			g.lim.setQuota(now, items)
		}
	}
	return more
}

// SetSlotQuota lets that many tasks be in flight, until a time. Tasks above a lowered number
// run to their end. It reports whether more may start than before.
func (g *Gate) SetSlotQuota(now, tasks, until int64) (more bool) {
	more = (g.out.capUntil <= now || int(tasks) > g.bound) && until > now
	g.bound, g.out.capUntil = int(min(tasks, unbounded)), until
	return more
}

// Permit lets items start beyond the quota, between two times. They count in no window. A
// permit replaces the rest of the one before.
func (g *Gate) Permit(units, from, until int64) {
	g.out.units, g.out.from, g.out.until = units, from, until
	g.out.alertRate = true // when it is used up
}

// Observe returns the use of a gate with shared limits. From then on the gate adds itself to
// [Stirs] when it refuses for a new reason.
func (g *Gate) Observe(now int64) Use {
	u := Use{InFlight: g.inFlight, Busy: g.busy}
	if g.out.rated {
		u.Used = g.lim.Used(now)
	}
	if g.out.live(now) {
		u.Permit = g.out.units
	}
	switch g.lack {
	case CauseRate:
		u.Short, u.Cost = g.lackSince, int64(g.cost)
	case CauseConcurrency:
		u.Cramped = g.lackSince
	default: // it lacks nothing that a quota could give
	}
	g.out.alertRate, g.out.alertCap = u.Short == 0, u.Cramped == 0
	if g.paced(now) { // more of the rate would not help
		u.Short, g.out.alertRate = 0, false
	}
	return u
}

// live reports whether a permit may still be used, now or later.
func (o *outside) live(now int64) bool { return o.units > 0 && now < o.until }

// paced reports whether a pace, and not the quota, decides how much starts. It returns false
// without a quota, or if the quota is less than the next task takes.
func (g *Gate) paced(now int64) bool {
	o := g.out
	return now < o.rateUntil && o.quota >= int64(max(g.cost, 1)) && g.Rate() < g.lim.Rate()
}

// lapse ends a slot quota that has expired.
func (g *Gate) lapse(now int64) {
	if g.out.capped && g.out.capUntil <= now {
		g.bound = 0
	}
}

// readyOutside is Limiter.Ready for a shared rate.
func (g *Gate) readyOutside(now int64, cost int) int64 {
	o := g.out
	at := int64(Never)
	if now < o.rateUntil && int64(cost) <= o.quota {
		at = g.lim.Ready(now, cost)
	}
	if o.live(now) && int64(cost) <= o.units && !g.paced(now) {
		at = min(at, max(o.from, g.lim.due()))
	}
	return at
}

// takeOutside uses the permit first, since it expires. It returns by when the task has to
// start.
func (g *Gate) takeOutside(now int64, cost int) (until int64) {
	o := g.out
	if o.live(now) && max(o.from, g.lim.due()) <= now && int64(cost) <= o.units && !g.paced(now) {
		o.units -= int64(cost)
		g.lim.pay(now, cost)
		return o.until
	}
	g.lim.Take(now, cost)
	return Never
}

// lacks records the cause of a refusal, and since when it holds.
func (g *Gate) lacks(now int64, cause Cause) {
	o := g.out
	switch cause {
	case CauseRate:
		if o.alertRate && !o.live(now) {
			o.alertRate = false
			o.stir(g)
		}
	case CauseConcurrency:
		if o.alertCap {
			o.alertCap = false
			o.stir(g)
		}
	default:
		g.lack = CauseNone
		return
	}
	if g.lack != cause {
		g.lack, g.lackSince = cause, now
	}
}

// due returns when the pace lets the next task start, whatever room the window has. Without a
// pace it is long past.
func (l *Limiter) due() int64 {
	if l.pace == 0 || l.tat == math.MinInt64 {
		return math.MinInt64
	}
	return l.tat - l.slack()
}

// pay makes a task that counts in no window keep to the pace.
func (l *Limiter) pay(now int64, cost int) {
	if l.pace != 0 {
		l.tat = max(l.tat, now) + int64(float64(cost)*l.even)
	}
}

// setQuota changes what may start in a window, whose length stays.
func (l *Limiter) setQuota(now, items int64) {
	old, gap := l.rate, l.gap()
	l.quota = items
	l.perItem = float64(l.window) / float64(items)
	l.rate = 1e9 / l.perItem
	l.rescale(now, old, gap)
	if l.pace != 0 {
		return // the pace is there to be kept
	}
	l.tat = min(l.tat, now+catchUp) // the window is exact; pacing must not keep a new quota from being used
}
