package partition

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
)

// SetLimits has the lane of a resource reckon with other limits. The node is told apart.
func (m *Machine) SetLimits(now int64, r weir.Resource) {
	have := m.resources[r.Name]
	if have == nil || have.limits == r {
		return
	}
	have.limits = r
	have.setSize(m.queue.Size(have.lane))
	for _, b := range m.ordered() {
		for _, s := range b.steps {
			if s.lane == have {
				s.def.Resource = r
				s.setPace(now, b)
				b.status.Lately = Lately{} // what was seen before says nothing of the rate from now on
			}
		}
	}
	for _, b := range m.ordered() {
		m.offerAll(now, b)
	}
	m.widen()
}

// Reweigh has all tenants use what they may by now.
func (m *Machine) Reweigh(now int64) {
	moved := map[string]bool{} // tenants that were paused or go on
	for _, b := range m.ordered() {
		name := b.spec.Tenant
		if m.limitTenant(now, name) {
			moved[name] = true
		}
		if moved[name] {
			m.touch(b) // so that it shows what it waits on
		}
		m.wantFilters(b) // those of a paused tenant do not run
	}
}

// limitTenant gives a tenant its weight, its bound and its pause. It reports whether
// the tenant is paused from now on, or no longer.
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

// ordered are the bulk actions that have not ended, by their ids: what is done to
// all of them must not depend on the order of a map.
func (m *Machine) ordered() []*bulk {
	return slices.SortedFunc(maps.Values(m.bulks), func(a, b *bulk) int { return cmp.Compare(a.spec.ID, b.spec.ID) })
}
