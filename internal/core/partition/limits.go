package partition

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
)

// Relimit has the lanes plan with the limits that the node's capacity has now.
func (m *Machine) Relimit(now int64) {
	changed := false
	for _, l := range m.lanes.all {
		if r := m.queue.Limits(l.resource); l.limits != r {
			m.relimit(now, l, r)
			changed = true
		}
	}
	if !changed {
		return
	}
	for _, b := range m.ordered() {
		m.offerAll(now, b)
	}
	m.widen()
}

// relimit has a lane and its steps plan with other limits.
func (m *Machine) relimit(now int64, l *lane, r weir.Resource) {
	l.limits = r
	l.setSize(m.queue.Size(l.resource))
	for _, b := range m.ordered() {
		for _, s := range b.steps {
			if s.lane == l {
				s.def.Resource = r
				s.setPace(now, b)
				b.status.Lately = Lately{} // the earlier rate says nothing about the new one
			}
		}
	}
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
