package capacity

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/core/sched"
)

const (
	// aloneCalls is how many calls of a tenant must have failed in a row.
	aloneCalls = 5
	// aloneFresh is how recent the success of another tenant must be.
	aloneFresh = int64(10 * time.Second)
	// aloneFor is how long the calls of one tenant may fail at no cost to its items. An
	// outage of one tenant looks like items that no downstream would take, so there
	// has to be an end.
	aloneFor     = int64(3 * time.Minute)
	aloneFirst   = time.Second
	aloneLongest = 10 * time.Second
	aloneJitter  = 0.2
)

// circuits finds the tenants whose calls fail while those of others succeed. Their
// failures say nothing of the resource as a whole: each of them is left alone by itself.
type circuits struct {
	failing map[string]*failing
	sweep   int    // how many entries failing may have before old ones are dropped
	apart   int    // how many of them are left alone
	newest  string // the tenant of them that came last
	// The newest success of the tenant that had the last one, and of another.
	last, other success
}

// failing is a tenant whose newest calls have all failed.
type failing struct {
	calls  int
	since  int64 // when the first of them ended
	newest int64
	closed int64 // when it was last left alone, and how often
	times  int
}

type success struct {
	tenant      string
	sent, ended int64
}

// succeeded notes a call that succeeded.
func (c *circuits) succeeded(now, sent int64, tenant string) {
	if len(c.failing) > 0 {
		c.forget(tenant)
	}
	if c.last.tenant != tenant {
		c.other = c.last
	}
	c.last = success{tenant, sent, now}
}

// forget ends a row of failures.
func (c *circuits) forget(tenant string) {
	f := c.failing[tenant]
	delete(c.failing, tenant)
	if f == nil || f.times == 0 {
		return
	}
	if c.apart--; c.newest != tenant {
		return
	}
	since := int64(-1)
	for name, f := range c.failing {
		if f.times > 0 && f.since > since {
			c.newest, since = name, f.since
		}
	}
}

// failed notes a call that failed.
func (c *circuits) failed(now int64, tenant string) *failing {
	f := c.failing[tenant]
	if f == nil {
		c.drop(now)
		f = &failing{since: now}
		c.failing[tenant] = f
	}
	f.calls++
	f.newest = now
	return f
}

// drop makes room for another tenant: those that have not been called for long are forgotten.
func (c *circuits) drop(now int64) {
	if c.failing == nil {
		c.failing, c.sweep = map[string]*failing{}, 1000
	}
	if len(c.failing) >= c.sweep {
		for tenant, f := range c.failing {
			if now-f.newest > aloneFor {
				c.forget(tenant)
			}
		}
		c.sweep = 2*len(c.failing) + 1000
	}
}

// alone reports whether the tenant fails while another does not: one whose call was
// sent after the first failure.
func (c *circuits) alone(now int64, tenant string, f *failing) bool {
	s := c.last
	if s.tenant == tenant {
		s = c.other
	}
	return f.calls >= aloneCalls && s.sent > f.since && now-s.ended < aloneFresh
}

// text is which tenants are left alone, in one sentence; empty: none.
func (c *circuits) text() string {
	switch c.apart {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("calls of tenant %s fail while those of others succeed: only they wait, 1 to 10 s each time.", c.newest)
	}
	return fmt.Sprintf("calls of %d tenants, of %s last, fail while those of others succeed: only they wait, 1 to 10 s each time.", c.apart, c.newest)
}

// sideline looks at the end of a task for its tenant alone. Where only this tenant's
// calls fail, apart is true, and nothing of the tenant starts for a while; free says
// that its items need not pay for it.
func (r *Resource) sideline(now int64, pick sched.Pick, x *Ending) (apart, free bool) {
	c, tenant := &r.control.circuits, pick.Entry.Group().Tenant()
	switch {
	case x.Refused == pick.Cost:
		return false, false
	case !x.Failed:
		if !x.Silent {
			c.succeeded(now, pick.At, tenant.Name())
		}
		return false, false
	case x.OfItems:
		f := c.failing[tenant.Name()]
		return f != nil && c.alone(now, tenant.Name(), f), false
	}
	f := c.failed(now, tenant.Name())
	if !c.alone(now, tenant.Name(), f) {
		return false, false
	}
	if now-f.since >= aloneFor {
		return true, false
	}
	if pick.At >= f.closed { // what was sent before has been answered for
		wait := float64(min(aloneFirst<<min(f.times, 10), aloneLongest))
		wait *= 1 + aloneJitter*(2*r.node.random.Float64()-1)
		if f.times == 0 {
			c.apart, c.newest = c.apart+1, tenant.Name()
		}
		f.closed = now
		f.times++
		r.node.queue.CloseTenant(now, tenant, r.entry, now+int64(wait), sched.CauseCircuit)
	}
	return true, true
}
