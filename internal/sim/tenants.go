package sim

import (
	"fmt"
	"maps"

	"github.com/weirhq/weir/internal/partition"
)

// tenantLimits is what tenants may use of a partition. One that is not there may use everything.
type tenantLimits map[string]partition.TenantLimits

// planTenants has somebody limit, pause and weigh tenants while they have work.
// After the faults nobody is paused.
func (w *World) planTenants() {
	r := stream(w.seed, "tenants", 0)
	w.tenants = tenantLimits{}
	if !w.plan.starts || !chance(r, 0.5) {
		return
	}
	for at := between(r, 0, 3*second); at < faultTime; at += between(r, second, 6*second) {
		name := fmt.Sprintf("t%d", r.IntN(3))
		l := partition.TenantLimits{Weight: float64(r.IntN(4)), MaxTasks: r.IntN(4), Paused: chance(r, 0.2)}
		w.after(at, func() { w.limit(name, l) })
	}
	w.after(w.plan.healAt, func() {
		for _, name := range []string{"t0", "t1", "t2"} {
			l := w.tenants[name]
			l.Paused = false
			w.limit(name, l)
		}
	})
}

// limit has every owner told what a tenant may use.
func (w *World) limit(name string, l partition.TenantLimits) {
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
		o.tenants = maps.Clone(o.w.tenants)
		o.machine.Reweigh(o.w.now)
	}
}

// checkTenant: nothing of a paused tenant starts, and no more than it may have in
// flight. What was changed may hold before the owner was told of it.
func (w *World) checkTenant(c *call) {
	o, name := c.owner, c.task.Tenant
	known, now := o.tenants[name], w.tenants[name]
	w.must(!known.Paused || !now.Paused, "P6", c.bulk, -1, "a task of %s was started, whose tenant %s is paused", c.bulk.spec.ID, name)
	most := max(known.MaxTasks, now.MaxTasks)
	bound := known.MaxTasks != 0 && now.MaxTasks != 0
	w.must(!bound || o.ofTenant[name] <= most, "I12", c.bulk, -1, "tenant %s: %d tasks in flight in a partition, at most %d allowed", name, o.ofTenant[name], most)
	if bound && o.ofTenant[name] == most {
		w.met[TenantFull]++
	}
}
