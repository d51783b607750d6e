package weir

import "time"

// Limits are the limits of resources and tenants on all nodes. What was set at
// run time comes first, then what the configuration file says, then what the
// actions say. See Operator.SetLimits of package operate.
type Limits struct {
	// Resources and Tenants hold what was set at run time. A restart keeps it.
	Resources map[string]ResourceLimits `json:"resources,omitempty"`
	Tenants   map[string]TenantLimits   `json:"tenants,omitempty"`
	// File holds what the configuration file says: the defaults for what was not set at run time.
	File FileLimits `json:"file,omitzero"`
}

// FileLimits are the limits of a configuration file, as the node that started last has read it.
type FileLimits struct {
	Resources map[string]ResourceLimits `json:"resources,omitempty"`
	Tenants   map[string]TenantLimits   `json:"tenants,omitempty"`
}

// IsZero reports whether no limits are given.
func (f FileLimits) IsZero() bool { return len(f.Resources) == 0 && len(f.Tenants) == 0 }

// Stamp records who wrote a setting, and when.
type Stamp struct {
	By string    `json:"by,omitempty"` // an API key, or the node that read the file; empty for a program
	At time.Time `json:"at,omitzero"`
}

// ResourceLimits are set over those of a [Resource]. What is nil stays as the file or the actions say.
type ResourceLimits struct {
	Rate        *Rate   `json:"rate,omitempty"`
	Concurrency *int    `json:"concurrency,omitempty"`
	Pacing      *Pacing `json:"pacing,omitempty"`
	Set         Stamp   `json:"set,omitzero"`
}

// Empty reports whether no limit is set.
func (l ResourceLimits) Empty() bool { return l.Rate == nil && l.Concurrency == nil && l.Pacing == nil }

// over returns r with the limits that are set.
func (l ResourceLimits) over(r Resource) Resource {
	if l.Rate != nil {
		r.Rate = *l.Rate
	}
	if l.Concurrency != nil {
		r.Concurrency = *l.Concurrency
	}
	if l.Pacing != nil {
		r.Pacing = *l.Pacing
	}
	return r
}

// TenantLimits bound how much a tenant may use. The zero value is what every tenant has.
type TenantLimits struct {
	// Weight is its share beside others. Default 1; between 0.001 and 1000.
	Weight float64 `json:"weight,omitempty"`
	// MaxTasks is the most tasks of it in flight on a node. 0: no bound.
	MaxTasks int `json:"max_tasks,omitempty"`
	// MaxPending is the most items of it that are accepted and not ended. 0: no bound.
	MaxPending int64 `json:"max_pending,omitempty"`
	// Paused lets nothing of it start.
	Paused bool `json:"paused,omitempty"`
	// Set records who set this, and when.
	Set Stamp `json:"set,omitzero"`
}

// Resource returns r with the limits that apply to it.
func (l *Limits) Resource(r Resource) Resource {
	return l.Resources[r.Name].over(l.File.Resources[r.Name].over(r))
}

// Tenant returns the limits that apply to a tenant: those set at run time, else those of the file.
func (l *Limits) Tenant(name string) TenantLimits {
	if t, ok := l.Tenants[name]; ok {
		return t
	}
	return l.File.Tenants[name]
}

// TenantNames returns the tenants that have limits of their own, in no order.
func (l *Limits) TenantNames() []string { return names(l.Tenants, l.File.Tenants) }

// ResourceNames returns the resources that have limits here, in no order.
func (l *Limits) ResourceNames() []string { return names(l.Resources, l.File.Resources) }

func names[T any](set, file map[string]T) []string {
	all := make([]string, 0, len(set)+len(file))
	for name := range set {
		all = append(all, name)
	}
	for name := range file {
		if _, both := set[name]; !both {
			all = append(all, name)
		}
	}
	return all
}
