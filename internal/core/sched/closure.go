package sched

import (
	"maps"
	"math"
	"slices"
)

// closure is a tenant that may not run on a resource before a time.
type closure struct {
	until  int64
	tenant string
	r      *Resource
}

// Before orders closures by their end.
func (c closure) Before(o closure) bool { return c.until < o.until }

// shutting records until when a tenant may not run on a resource, and why.
type shutting struct {
	until int64
	why   Cause
}

// CloseTenant lets nothing of t start on r before until: the downstream refuses or fails this
// tenant and no other. A time earlier than the present one changes nothing.
func (q *Queue) CloseTenant(now int64, t *Tenant, r *Resource, until int64, why Cause) {
	if until <= max(now, r.closures[t.name].until) {
		return
	}
	if r.closures == nil {
		r.closures = map[string]shutting{}
	}
	r.closures[t.name] = shutting{until, why}
	q.closed.Push(closure{until, t.name, r})
}

// OpenTenants lets the tenants that CloseTenant closed on r for a cause run again.
func (q *Queue) OpenTenants(now int64, r *Resource, why Cause) {
	for _, name := range slices.Sorted(maps.Keys(r.closures)) {
		if r.closures[name].why == why {
			r.closures[name] = shutting{now, why}
			q.closed.Push(closure{now, name, r})
		}
	}
}

// Rivals reports whether other tenants than t have something to run on r.
func (r *Resource) Rivals(t *Tenant) bool {
	own := 0
	for f := t.flows; f != nil; f = f.next {
		if f.tier.r == r && f.counted() {
			own++
		}
	}
	return r.active > own
}

// shut reports whether the tenant of f may not run on its resource now.
func (f *flow) shut(now int64) bool {
	r := f.tier.r
	return len(r.closures) > 0 && r.closures[f.tenant.name].until > now
}

// cause returns why a tenant waits that was shut when it was last checked.
func (s shutting) cause() Cause {
	if s.until == 0 {
		return CauseClosed
	}
	return s.why
}

// reopen lets tenants whose time has come run again.
func (q *Queue) reopen(now int64) {
	for q.nextOpen() <= now {
		c := q.closed.Pop()
		if c.r.closures[c.tenant].until > now {
			continue // its closure was extended since
		}
		delete(c.r.closures, c.tenant)
		if t := q.tenants[c.tenant]; t != nil {
			q.loosen(now, t)
		}
	}
}

// nextOpen returns when the next tenant may run again.
func (q *Queue) nextOpen() int64 {
	if len(q.closed) == 0 {
		return math.MaxInt64
	}
	return q.closed[0].until
}
