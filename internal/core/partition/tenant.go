package partition

import (
	"errors"
	"slices"

	"github.com/weirhq/weir/store"
)

// tenant is the state of a tenant with bulk actions here.
type tenant struct {
	bulks  int  // that have not ended
	row    bool // its marker is in the rows, or in the commit under way
	paused bool // nothing of it may start
}

// TenantActive reports whether a tenant has bulk actions, or shards, in a partition that have
// not ended. Callers use it to place further work.
func TenantActive(rows Rows, tenant string) (bool, error) {
	_, err := rows.Get(tenantKey(tenant))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// enter counts a bulk action to its tenant.
func (m *Machine) enter(b *bulk) {
	name := b.spec.Tenant
	t := m.tenants[name]
	t.bulks++
	m.tenants[name] = t
	if t.bulks == 1 {
		m.gen.tenants = append(m.gen.tenants, name)
	}
	if b.shard != nil {
		m.shared = append(m.shared, b)
	}
}

// leave removes an ended bulk action from its tenant.
func (m *Machine) leave(now int64, b *bulk) {
	name := b.spec.Tenant
	t := m.tenants[name]
	t.bulks--
	m.tenants[name] = t
	if t.bulks == 0 {
		m.gen.tenants = append(m.gen.tenants, name)
	}
	if b.shard == nil {
		return
	}
	m.shared = slices.DeleteFunc(m.shared, func(x *bulk) bool { return x == b })
	if b.away() {
		m.over[b.spec.ID] = true
	}
}

// writeTenants marks the tenants with work here, and unmarks the others.
func (m *Machine) writeTenants(b *store.Batch, g *generation) {
	for _, name := range g.tenants {
		t := m.tenants[name]
		switch has := t.bulks > 0; {
		case has && !t.row:
			b.Set = append(b.Set, store.Row{Key: tenantKey(name)})
		case !has && t.row:
			b.Delete = append(b.Delete, tenantKey(name))
		}
		if t.bulks == 0 {
			delete(m.tenants, name)
			continue
		}
		t.row = true
		m.tenants[name] = t
	}
}

// loadTenants loads the markers.
func (m *Machine) loadTenants(rows Rows) error {
	return rows.Scan([]byte{kindTenant}, func(key, _ []byte) error {
		name := string(key[1:])
		t := m.tenants[name]
		t.row = true
		m.tenants[name] = t
		if t.bulks == 0 {
			m.gen.tenants = append(m.gen.tenants, name) // no bulk action: the next commit removes it
		}
		return nil
	})
}
