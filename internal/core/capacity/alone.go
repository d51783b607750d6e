package capacity

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/sched"
)

const (
	// aloneCalls is the number of calls of a tenant that must have failed in a row.
	aloneCalls = 5
	// aloneFresh is how recent the success of another tenant must be.
	aloneFresh = int64(10 * time.Second)
	// aloneFor bounds how long the calls of one tenant may fail at no cost to its items. An
	// outage of one tenant looks like items that no downstream would take, so it has to end.
	aloneFor = int64(3 * time.Minute)
)

// circuits finds the tenants whose calls fail while those of others succeed. Their failures say
// nothing about the resource as a whole: each such tenant is paused by itself.
type circuits struct {
	failing map[caller]*failing
	sweep   int    // how many entries failing may have before old ones are dropped
	apart   int    // how many of them are left alone
	newest  caller // of them, the one that came last
	// The newest success of the tenant that had the last one, and of another.
	last, other success
	well        int64 // when the newest call was sent that succeeded; 0: none has
}

// caller is a tenant at one step of its chains: other steps may call another endpoint of the resource.
type caller struct {
	tenant string
	step   int
}

func (c caller) before(o caller) bool {
	return c.tenant < o.tenant || c.tenant == o.tenant && c.step < o.step
}

// failing is a caller whose newest calls have failed.
type failing struct {
	calls  int   // in a row; a success among them halves it
	since  int64 // when the first of them ended
	newest int64
	closed int64 // when it was last left alone, and how often, of late
	times  int
	apart  bool // it has been
}

type success struct {
	tenant      string
	sent, ended int64
}

// succeeded notes a call that succeeded.
func (c *circuits) succeeded(now, sent int64, by caller) {
	if f := c.failing[by]; f != nil {
		f.calls, f.times = f.calls/2, f.times/2
		if f.calls == 0 {
			c.forget(by)
		}
	}
	if c.last.tenant != by.tenant {
		c.other = c.last
	}
	c.last, c.well = success{by.tenant, sent, now}, max(c.well, sent)
}

// forget ends a row of failures.
func (c *circuits) forget(by caller) {
	f := c.failing[by]
	delete(c.failing, by)
	if !f.apart {
		return
	}
	if c.apart--; c.newest != by {
		return
	}
	since := int64(-1)
	for other, f := range c.failing { // ties go by name: order does not reach the output
		if f.apart && (f.since > since || f.since == since && other.before(c.newest)) {
			c.newest, since = other, f.since
		}
	}
}

// failed notes a call that failed.
func (c *circuits) failed(now int64, by caller) *failing {
	f := c.failing[by]
	if f == nil {
		c.drop(now)
		f = &failing{since: now}
		c.failing[by] = f
	}
	f.calls = min(f.calls+1, 2*aloneCalls)
	f.newest = now
	return f
}

// drop makes room for another caller: those that have not been called for long are forgotten.
func (c *circuits) drop(now int64) {
	if c.failing == nil {
		c.failing, c.sweep = map[caller]*failing{}, 1000
	}
	if len(c.failing) >= c.sweep {
		for by, f := range c.failing { // all of them: order does not reach the output
			if now-f.newest > aloneFor {
				c.forget(by)
			}
		}
		c.sweep = 2*len(c.failing) + 1000
	}
}

// alone reports whether the tenant fails while another does not: one whose call was sent after
// the first failure.
func (c *circuits) alone(now int64, tenant string, f *failing) bool {
	s := c.last
	if s.tenant == tenant {
		s = c.other
	}
	return f.calls >= aloneCalls && s.sent > f.since && now-s.ended < aloneFresh
}

// text names the tenants that are paused, in one sentence; empty if there are none.
func (c *circuits) text() string {
	switch c.apart {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("calls of tenant %s fail while those of others succeed: only they wait, 1 to 10 s each time.", c.newest.tenant)
	}
	return fmt.Sprintf("calls of several tenants or steps fail, last of tenant %s, while those of others succeed: only "+
		"they wait, 1 to 10 s each time.", c.newest.tenant)
}

// sideline evaluates the end of a task for its tenant alone. If only this tenant's calls fail,
// apart is true, and nothing of the tenant starts for a while; free reports that the failure
// does not count against its items.
func (r *Resource) sideline(now int64, pick sched.Pick, x *Ending) (apart, free bool) {
	c, tenant := &r.control.circuits, pick.Entry.Bulk().Tenant()
	by := caller{tenant.Name(), pick.Entry.Step()}
	switch {
	case x.Refused == pick.Cost:
		return false, false
	case !x.Failed:
		if !x.Silent {
			c.succeeded(now, pick.At, by)
		}
		return false, false
	case x.OfItems:
		f := c.failing[by]
		return f != nil && c.alone(now, tenant.Name(), f), false
	}
	f := c.failed(now, by)
	if !c.alone(now, tenant.Name(), f) {
		return false, false
	}
	if now-f.since >= aloneFor {
		return true, false
	}
	if pick.At >= f.closed { // failures of tasks sent before are already accounted for
		until := now + flow.OpenFor(f.times, r.node.random.Float64())
		if !f.apart {
			f.apart, c.apart, c.newest = true, c.apart+1, by
		}
		f.closed = now
		f.times++
		r.node.queue.CloseTenant(now, tenant, r.entry, until, sched.CauseCircuit)
	}
	return true, true
}

// probes reports whether the next call of a tenant at a step finds out whether it still fails.
func (c *circuits) probes(by caller) bool {
	if c.apart == 0 {
		return false
	}
	f := c.failing[by]
	return f != nil && f.apart && f.calls >= aloneCalls
}
