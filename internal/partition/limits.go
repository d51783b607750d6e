package partition

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/sched"
)

// TenantLimits is what a tenant may use of a partition. The zero value is what every tenant has.
type TenantLimits struct {
	Weight   float64 // beside others; 0: as 1
	MaxTasks int     // in flight; 0: no bound
	Paused   bool
}

// SetLimits has the lane of a resource reckon with other limits. Its gate is told apart.
func (m *Machine) SetLimits(now int64, r weir.Resource) {
	have := m.resources[r.Name]
	if have == nil || have.limits == r {
		return
	}
	have.limits, have.chunk = r, 0
	for _, b := range m.ordered() {
		for _, s := range b.steps {
			if s.lane == have {
				s.def.Resource = r
				s.setPace(b)
				have.chunk = max(have.chunk, s.chunk)
				b.status.Lately = Lately{} // what was seen before says nothing of the rate from now on
			}
		}
	}
	for _, b := range m.ordered() {
		m.offerAll(now, b)
	}
	m.widen()
	m.Wake(now, r.Name)
}

// Reweigh has all tenants use what they may by now.
func (m *Machine) Reweigh(now int64) {
	moved := map[string]bool{} // tenants that were paused or go on
	for _, b := range m.ordered() {
		name := b.spec.Tenant
		was := m.queue.Tenant(name).Paused()
		m.limitTenant(now, name)
		if m.queue.Tenant(name).Paused() != was {
			moved[name] = true
		}
		if moved[name] {
			m.touch(b) // so that it shows what it waits on
		}
	}
}

// limitTenant gives a tenant its weight in this partition, its bound and its pause.
func (m *Machine) limitTenant(now int64, name string) {
	var l TenantLimits
	if m.cfg.Tenant != nil {
		l = m.cfg.Tenant(name)
	}
	if l.Weight == 0 {
		l.Weight = 1
	}
	spread := max(m.tenants[name].spread, 1)
	t := m.queue.Tenant(name)
	m.queue.SetTenant(now, t, int64(l.Weight*float64(sched.Unit))/int64(spread), l.MaxTasks)
	if l.Paused {
		m.queue.PauseTenant(now, t)
	} else {
		m.queue.ResumeTenant(now, t)
	}
}

// ordered are the bulk actions that have not ended, by their ids: what is done to
// all of them must not depend on the order of a map.
func (m *Machine) ordered() []*bulk {
	return slices.SortedFunc(maps.Values(m.bulks), func(a, b *bulk) int { return cmp.Compare(a.spec.ID, b.spec.ID) })
}
