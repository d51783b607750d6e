package partition

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
)

// SetLimits changes the limits that the lane of a resource plans with. The caller sets the
// node's limits separately.
func (m *Machine) SetLimits(now int64, r weir.Resource) {
	have := m.lanes.by[r.Name]
	if have == nil || have.limits == r {
		return
	}
	have.limits = r
	have.setSize(m.queue.Size(have.resource))
	for _, b := range m.ordered() {
		for _, s := range b.steps {
			if s.lane == have {
				s.def.Resource = r
				s.setPace(now, b)
				b.status.Lately = Lately{} // the earlier rate says nothing about the new one
			}
		}
	}
	for _, b := range m.ordered() {
		m.offerAll(now, b)
	}
	m.widen()
}

// Reweigh applies the current limits of all tenants.
func (m *Machine) Reweigh(now int64) {
	moved := map[string]bool{} // tenants that were paused or resumed
	for _, b := range m.ordered() {
		name := b.spec.Tenant
		if m.limitTenant(now, name) {
			moved[name] = true
		}
		if moved[name] {
			m.touch(b) // to publish what it waits on
		}
		m.wantFilters(b) // those of a paused tenant do not run
	}
}

// limitTenant sets a tenant's weight, bound and pause. It reports whether the tenant was paused
// or resumed.
func (m *Machine) limitTenant(now int64, name string) (moved bool) {
	var l capacity.TenantLimits
	if m.cfg.Tenant != nil {
		l = m.cfg.Tenant(name)
	}
	t := m.tenants[name]
	m.queue.SetTenant(now, name, l)
	moved = t.paused != l.Paused
	t.paused = l.Paused
	m.tenants[name] = t
	return moved
}

// ordered returns the bulk actions that have not ended, by their ids: changes to all of them
// must not depend on the order of a map.
func (m *Machine) ordered() []*bulk {
	return slices.SortedFunc(maps.Values(m.bulks), func(a, b *bulk) int { return cmp.Compare(a.spec.ID, b.spec.ID) })
}
