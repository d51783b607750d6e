package sim

import (
	"fmt"

	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// tenantLimits is what tenants may use. One that is not there may use everything.
type tenantLimits map[string]capacity.TenantLimits

// planTenants makes users limit, pause and weigh tenants while they have work. After the
// faults no tenant is paused.
func (w *World) planTenants() {
	r := virtual.Named(w.seed, "tenants", 0)
	w.tenants = tenantLimits{}
	if !w.plan.starts || !chance(r, 0.5) {
		return
	}
	for at := between(r, 0, 3*second); at < faultTime; at += between(r, second, 6*second) {
		name := fmt.Sprintf("t%d", r.IntN(3))
		l := capacity.TenantLimits{Weight: float64(r.IntN(4)), MaxTasks: r.IntN(4), Paused: chance(r, 0.2)}
		w.After(at, func() { w.limit(name, l) })
	}
	w.After(w.plan.healAt, func() {
		for _, name := range []string{"t0", "t1", "t2"} {
			l := w.tenants[name]
			l.Paused = false
			w.limit(name, l)
		}
	})
}

// limit has every owner told what a tenant may use.
func (w *World) limit(name string, l capacity.TenantLimits) {
	w.tenants[name] = l
	for _, n := range w.nodes {
		for p := range w.plan.partitions {
			if o := n.owner(p); o != nil {
				o.put(o.reweigh)
			}
		}
	}
}

// reweigh has the machine look at the limits of all tenants.
func (o *owner) reweigh() {
	if !o.gone {
		o.machine.Reweigh(o.w.Now())
	}
}

// checkTenant: nothing of a paused tenant starts, and no more than it may have in
// flight on the node, as of what any machine there was told last.
func (w *World) checkTenant(c *call) {
	n, name := c.owner.node, c.task.Tenant
	l, is := n.tenants[name], n.ofTenant[name]
	w.must(!l.Paused, "P6", c.bulk, -1, "a task of %s was started, whose tenant %s is paused", c.bulk.spec.ID, name)
	w.must(l.MaxTasks == 0 || is <= l.MaxTasks, "I12", c.bulk, -1,
		"tenant %s: %d tasks in flight on a node, at most %d allowed", name, is, l.MaxTasks)
	if l.MaxTasks != 0 && is == l.MaxTasks {
		w.met[TenantFull]++
	}
}
