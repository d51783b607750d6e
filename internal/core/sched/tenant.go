package sched

import "math"

// Tenant is a customer; fairness is between tenants. There may be very many, so the fields are
// as narrow as possible.
type Tenant struct {
	name     string
	flows    *flow // on all resources and tiers
	weight   int32
	cap      int32 // tasks in flight, 0 for no bound
	inFlight int32
	bulks    int32
	stalled  int32 // of those in flight
	active   int16 // flows in a tree
	parked   int16
	held     int16
	nodes    uint8 // on which it has work, if there are several
	paused   bool
	gone     bool // no longer in Queue.tenants
}

// Tenant returns the tenant of that name, and adds it with weight 1.0 and no cap if it is
// missing. The queue drops a tenant without bulk actions and in-flight tasks, unless it has settings
// of its own.
func (q *Queue) Tenant(name string) *Tenant {
	t := q.tenants[name]
	if t == nil {
		t = &Tenant{name: name, weight: Unit}
		q.tenants[name] = t
	}
	return t
}

// Name returns the tenant's name.
func (t *Tenant) Name() string { return t.name }

// InFlight returns the number of the tenant's tasks in flight.
func (t *Tenant) InFlight() int { return int(t.inFlight) }

// maxWeight keeps the tag distance of one item so large that rounding to a whole number loses
// less than a thousandth.
const maxWeight = 1 << 20

// SetTenant sets the weight, [Unit] for 1.0 and at most 1024 times that, and the
// bound on tasks in flight, 0 for none.
func (q *Queue) SetTenant(now int64, t *Tenant, weight int64, cap int) {
	t = q.living(t)
	weight = min(max(weight, 1), maxWeight)
	was := t.slotWeight()
	t.weight, t.cap = int32(weight), int32(cap)
	q.slotWeightChanged(t, was)
	for f := t.flows; f != nil; f = f.next {
		reweigh(t, f.tier.r, nil)
		f.tier.r.guardTiers()
	}
	q.loosen(now, t)
	q.forget(t)
}

// PauseTenant lets nothing of t start until it is resumed. O(1): its flows leave the tree when
// Next meets them.
func (q *Queue) PauseTenant(_ int64, t *Tenant) { q.living(t).paused = true }

// ResumeTenant ends a pause.
func (q *Queue) ResumeTenant(now int64, t *Tenant) {
	t = q.living(t)
	t.paused = false
	q.loosen(now, t)
	q.forget(t)
}

// living returns the tenant of that name that is in the queue, which is t itself
// unless t was dropped while the caller kept it.
func (q *Queue) living(t *Tenant) *Tenant {
	if !t.gone {
		return t
	}
	if cur := q.tenants[t.name]; cur != nil {
		return cur
	}
	t.gone = false
	q.tenants[t.name] = t
	return t
}

func (t *Tenant) atCap() bool   { return t.cap > 0 && t.inFlight >= t.cap }
func (t *Tenant) blocked() bool { return t.paused || t.atCap() }

// loosen puts those flows of t back into the tree that may be there again.
func (q *Queue) loosen(now int64, t *Tenant) {
	if t.parked > 0 && !t.blocked() {
		for f := t.flows; f != nil; f = f.next {
			if f.state == flowParked && !f.shut(now) {
				t.parked--
				q.activate(now, f, false)
			}
		}
	}
	if t.held > 0 && !q.atShare(t) {
		for f := t.flows; f != nil; f = f.next {
			if f.state == flowHeld && !f.atDue() {
				q.unhold(f)
				f.tag = max(f.tag, f.owed()) // what its slow tasks cost it is not owed
				f.tier.push(f)
				q.classify(f)
				q.advance(f.tier.r)
			}
		}
	}
}

// share returns the tasks in flight that t may have while slots are scarce: its part of the
// slots by its shares of the resources that it has work on, so that tiers count here as well.
func (q *Queue) share(t *Tenant) int64 {
	if q.present == 1 {
		return int64(max(q.slots, 1))
	}
	w := float64(t.slotWeight())
	if t.active > 0 {
		w *= t.claims() / float64(t.active)
	}
	return max(1, int64(math.Ceil(float64(q.slots)*w/max(float64(q.presentW), w))))
}

// claims adds up, over the flows of t in a tree, how much more each gets than its weight says.
func (t *Tenant) claims() (sum float64) {
	for f := t.flows; f != nil; f = f.next {
		if f.counted() {
			sum += f.tier.r.claim(f) / float64(f.weight)
		}
	}
	return sum
}

// slotWeight returns the weight of t for its share of the slots. A tenant with work on several
// nodes has a part of it on each.
func (t *Tenant) slotWeight() int64 { return max(int64(t.weight)/int64(max(t.nodes, 1)), 1) }

// slotWeightChanged updates the sums after a change of slotWeight.
func (q *Queue) slotWeightChanged(t *Tenant, was int64) {
	if t.present() {
		q.presentW += t.slotWeight() - was
	}
	t.split()
}

// split divides the weight of t between its flows, for their resources' shares of the slots: a
// tenant spread over many resources gets no more slots.
func (t *Tenant) split() {
	part := int64(0)
	if t.active > 0 {
		part = max(t.slotWeight()/int64(t.active), 1)
	}
	for f := t.flows; f != nil; f = f.next {
		if is := f.counted(); is || f.slotPart != 0 {
			was := f.slotPart
			if f.slotPart = 0; is {
				f.slotPart = part
			}
			f.tier.r.slotWeight += f.slotPart - was
		}
	}
}

// present reports whether t has something to run, or in flight.
func (t *Tenant) present() bool { return t.active > 0 || t.inFlight > 0 }

// atShare reports whether t has as many tasks in flight as its share of the slots.
func (q *Queue) atShare(t *Tenant) bool { return int64(t.inFlight) >= q.share(t) }

// guarded reports whether slots are scarce.
func (q *Queue) guarded() bool {
	return q.slots > 0 && float64(q.slots-q.busy()) < guardBelow*float64(q.slots)
}

// drop unlinks f from t.
func (t *Tenant) drop(f *flow) {
	for p := &t.flows; *p != nil; p = &(*p).next {
		if *p == f {
			*p = f.next
			return
		}
	}
}

// forget drops t if it has no more state than a new tenant.
func (q *Queue) forget(t *Tenant) {
	if t.bulks == 0 && t.inFlight == 0 && t.flows == nil && !t.paused && t.weight == Unit && t.cap == 0 && !t.gone {
		t.gone = true
		delete(q.tenants, t.name)
	}
}
