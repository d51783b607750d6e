package fleet

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/registry"
)

// Tenants lists by name the tenants that have their own settings.
func (s *Fleet) Tenants(ctx context.Context) ([]api.Tenant, error) {
	l, err := s.engine.Operator().Limits(ctx)
	if err != nil {
		return nil, err
	}
	names := l.TenantNames()
	slices.Sort(names)
	out := make([]api.Tenant, 0, len(names))
	for _, name := range names {
		out = append(out, tenantIn(&l, name))
	}
	return out, nil
}

// tenantIn returns a tenant's settings, and where they come from.
func tenantIn(l *weir.Limits, name string) api.Tenant {
	set, changed := l.Tenants[name]
	file, inFile := l.File.Tenants[name]
	switch {
	case changed && inFile:
		out, said := tenantOf(name, set, "api"), tenantOf("", file, "file")
		out.File = &said
		return out
	case changed:
		return tenantOf(name, set, "api")
	case inFile:
		return tenantOf(name, file, "file")
	}
	return tenantOf(name, weir.TenantLimits{}, "default")
}

func tenantOf(name string, l weir.TenantLimits, origin string) api.Tenant {
	return api.Tenant{
		Name: name, Weight: cmp.Or(l.Weight, 1), MaxTasks: l.MaxTasks, MaxPending: l.MaxPending, Paused: l.Paused,
		Provenance: registry.Provenance(origin, l.Set),
	}
}

// Tenant returns the settings of a tenant, and their version. A tenant without its own settings
// has the defaults and an empty version.
func (s *Fleet) Tenant(ctx context.Context, name string) (api.Tenant, string, error) {
	if err := check.Tenant("name", name); err != nil {
		return api.Tenant{}, "", err
	}
	l, err := s.engine.Operator().Limits(ctx)
	if err != nil {
		return api.Tenant{}, "", err
	}
	set, there := l.Tenants[name]
	return tenantIn(&l, name), records.VersionOf(set, there), nil
}

// PutTenant sets a tenant's settings on all nodes, also for running work. Restarts keep them,
// whatever the configuration file says.
func (s *Fleet) PutTenant(ctx context.Context, t api.Tenant, by string, match records.Match) (api.Tenant, string, error) {
	var bad weir.InputError
	if err := check.Tenant("name", t.Name); err != nil {
		check.Add(&bad, err, "bad_text", "name")
	}
	if w := t.Weight; math.IsNaN(w) || w != 0 && (w < 0.001 || w > 1000) {
		bad.Add("out_of_range", "weight", fmt.Sprintf("%v is not between 0.001 and 1000", w), "the default is 1")
	}
	if t.MaxTasks < 0 || t.MaxTasks > 1_000_000 {
		bad.Add("out_of_range", "max_tasks", fmt.Sprintf("%d is not between 0 and 1000000", t.MaxTasks), "0 means no limit")
	}
	if t.MaxPending < 0 {
		bad.Add("out_of_range", "max_pending", fmt.Sprintf("%d is below 0", t.MaxPending), "0 means no limit")
	}
	if err := bad.OrNil(); err != nil {
		return t, "", err
	}
	set := weir.TenantLimits{Weight: t.Weight, MaxTasks: t.MaxTasks, MaxPending: t.MaxPending, Paused: t.Paused,
		Set: registry.Stamp(by)}
	var out api.Tenant
	err := s.engine.Operator().ChangeLimits(ctx, func(l *weir.Limits) error {
		before, there := l.Tenants[t.Name]
		if err := match(records.VersionOf(before, there)); err != nil {
			return err
		}
		l.Tenants[t.Name] = set
		out = tenantIn(l, t.Name)
		return nil
	})
	return out, records.VersionOf(set, true), err
}

// DeleteTenant removes the settings that were made at run time: those of the configuration file,
// or the defaults, apply again.
func (s *Fleet) DeleteTenant(ctx context.Context, name string, match records.Match) error {
	return s.engine.Operator().ChangeLimits(ctx, func(l *weir.Limits) error {
		return reset("the settings of tenant", name, l.Tenants, l.File.Tenants, match)
	})
}

// reset removes limits that were set at run time from set. Those of the file cannot be removed.
func reset[T any](what, name string, set, file map[string]T, match records.Match) error {
	before, there := set[name]
	if _, inFile := file[name]; !there && inFile {
		return registry.FromFile(what, name)
	}
	if !there {
		return fmt.Errorf("%s %q: %w", what, name, weir.ErrNotFound)
	}
	if err := match(records.VersionOf(before, there)); err != nil {
		return err
	}
	delete(set, name)
	return nil
}
