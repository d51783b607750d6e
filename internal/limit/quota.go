package limit

import "math"

// A resource whose limit is shared between nodes is held by its quota: what this
// node may use of it, and until when. Beyond the quota of a rate, single permits
// may be used. Whoever sets them watches the resource with [Pool.Observe] and is
// told by [Pool.Stirred] when to look again.

// outside is what a resource may use by somebody else's leave.
type outside struct {
	rated  bool // the rate is a quota
	capped bool // the concurrency is a quota

	quota     int64 // items per window
	rateUntil int64 // when the quota of the rate lapses
	capUntil  int64 // when the quota of the concurrency lapses

	units       int64 // what is left of the permit
	from, until int64 // when it may be used

	alertRate bool // the next refusal for the rate is worth a look
	alertCap  bool // and for the concurrency
	listed    bool // is on the list of those stirred
}

// Use is what a resource uses and could use; see [Pool.Observe].
type Use struct {
	// Used is what started in the rate's window that ends now, without permits.
	Used int64
	// InFlight is the number of tasks in flight.
	InFlight int
	// Busy tells whether a lane wants something.
	Busy bool
	// Weight is the weight of the lanes that do.
	Weight int64
	// Short is since when a lane has been held back by the rate, and Cramped by the
	// concurrency, without having run out of work meanwhile; 0: none is.
	Short, Cramped int64
	// Cost is the most items that a lane which is Short asks for at once.
	Cost int64
	// Permit is what is left of a permit that may still be used.
	Permit int64
}

// Share says that the rate of r, or its concurrency, is shared with other nodes:
// from now on nothing starts without a quota. A limit that r does not have is not
// shared; one that it gets later is. A resource that is shared already stays as it is.
func (p *Pool) Share(r *PoolResource) {
	if r.out == nil {
		r.out = &outside{}
		r.shareRate()
		r.shareConcurrency()
	}
}

// shareRate has a rate that was just set wait for its quota. What is held, and
// what is left of a permit, is a part of the one before.
func (r *PoolResource) shareRate() {
	if o := r.out; o != nil {
		o.rated, o.quota, o.rateUntil, o.units = r.lim.Rate() > 0, 0, math.MinInt64, 0
	}
}

// shareConcurrency is shareRate for the concurrency.
func (r *PoolResource) shareConcurrency() {
	if o := r.out; o != nil {
		o.capped, o.capUntil = r.bound < unbounded, math.MinInt64
	}
}

// SetQuota lets r start that many items per window, until a time. What started
// before still counts: a lower quota waits until the window has drained to it.
func (p *Pool) SetQuota(now int64, r *PoolResource, items, until int64) {
	lapsed := r.out.rateUntil <= now
	raised := items > r.out.quota
	r.out.rateUntil = until
	if items != r.out.quota {
		r.out.quota = items
		if items > 0 {
			r.lim.setQuota(now, items)
		}
	}
	if (raised || lapsed) && until > now {
		p.wakeAll(now, r)
	}
}

// SetSlotQuota lets r have that many tasks in flight, until a time. Tasks above a
// lowered number run to their end.
func (p *Pool) SetSlotQuota(now int64, r *PoolResource, tasks, until int64) {
	wake := (r.out.capUntil <= now || int(tasks) > r.bound) && until > now
	r.bound, r.out.capUntil = int(min(tasks, unbounded)), until
	if wake {
		p.wakeAll(now, r)
	}
}

// Permit lets r start items beyond its quota, between two times. They count in no
// window. A permit takes the place of what is left of the one before.
func (p *Pool) Permit(now int64, r *PoolResource, units, from, until int64) {
	r.out.units, r.out.from, r.out.until = units, from, until
	r.out.alertRate = true // when it is used up
	p.wakeAll(now, r)
}

// Observe tells what r, whose limits are shared, uses, and asks to be told by [Pool.Stirred] when a lane is
// refused that was not before.
func (p *Pool) Observe(now int64, r *PoolResource) Use {
	u := Use{InFlight: r.inFlight, Busy: r.busy > 0}
	if r.out.rated {
		u.Used = r.lim.Used(now)
	}
	if r.out.live(now) {
		u.Permit = r.out.units
	}
	for _, l := range r.lanes {
		if l.state == laneIdle {
			continue
		}
		u.Weight += l.weight
		if l.lack == CauseRate {
			u.Short = earlier(u.Short, l.lackSince)
			u.Cost = max(u.Cost, int64(l.cost))
		}
		if l.lack == CauseConcurrency {
			u.Cramped = earlier(u.Cramped, l.lackSince)
		}
	}
	r.out.alertRate, r.out.alertCap = u.Short == 0, u.Cramped == 0
	if r.paced() { // more of the rate would not help
		u.Short, r.out.alertRate = 0, false
	}
	return u
}

// earlier returns the earlier of two times, of which 0 is none.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Stirred appends to dst the resources with shared limits at which something has
// changed that is worth a look, and forgets them.
func (p *Pool) Stirred(dst []*PoolResource) []*PoolResource {
	for i, r := range p.stirred {
		r.out.listed = false
		dst = append(dst, r)
		p.stirred[i] = nil
	}
	p.stirred = p.stirred[:0]
	return dst
}

func (p *Pool) stir(r *PoolResource) {
	if !r.out.listed {
		r.out.listed = true
		p.stirred = append(p.stirred, r)
	}
}

// live reports whether a permit may still be used, now or later.
func (o *outside) live(now int64) bool { return o.units > 0 && now < o.until }

// paced reports whether a pace, and not the quota, decides how much starts.
func (r *PoolResource) paced() bool { return r.Rate() < r.lim.Rate() }

// lapse ends a quota of slots whose time is over.
func (r *PoolResource) lapse(now int64) {
	if r.out.capped && r.out.capUntil <= now {
		r.bound = 0
	}
}

// readyOutside is Limiter.Ready for a shared rate.
func (r *PoolResource) readyOutside(now int64, cost int) int64 {
	o := r.out
	at := int64(Never)
	if now < o.rateUntil && int64(cost) <= o.quota {
		at = r.lim.Ready(now, cost)
	}
	if o.live(now) && int64(cost) <= o.units && !r.paced() {
		at = min(at, o.from)
	}
	return at
}

// takeOutside uses the permit first: it perishes.
func (r *PoolResource) takeOutside(now int64, cost int) {
	o := r.out
	if o.live(now) && o.from <= now && int64(cost) <= o.units && !r.paced() {
		o.units -= int64(cost)
		return
	}
	r.lim.Take(now, cost)
}

// lacks notes what the refused lane lacks, and since when.
func (p *Pool) lacks(now int64, l *Lane, cause Cause) {
	o := l.r.out
	switch cause {
	case CauseRate:
		if o.alertRate && !o.live(now) {
			o.alertRate = false
			p.stir(l.r)
		}
	case CauseConcurrency:
		if o.alertCap {
			o.alertCap = false
			p.stir(l.r)
		}
	case CauseTurn:
		return // whoever goes first lacks the same
	default:
		l.lack = CauseNone
		return
	}
	if l.lack != cause {
		l.lack, l.lackSince = cause, now
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
	l.tat = min(l.tat, now+l.catchUp) // the window is exact; pacing must not keep a new quota from being used
}
