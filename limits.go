package weir

// Limits are what operators have set for all nodes: of resources, over what
// their actions say, and of tenants. See Operator.SetLimits of package engine.
type Limits struct {
	Resources map[string]ResourceLimits `json:"resources,omitempty"`
	Tenants   map[string]TenantLimits   `json:"tenants,omitempty"`
}

// ResourceLimits are set over those of a [Resource]. What is nil stays as the actions say.
type ResourceLimits struct {
	Rate        *Rate `json:"rate,omitempty"`
	Concurrency *int  `json:"concurrency,omitempty"`
}

// TenantLimits are how much a tenant may use. The zero value is what every tenant has.
type TenantLimits struct {
	// Weight is its share beside others. Default 1; between 0.001 and 1000.
	Weight float64 `json:"weight,omitempty"`
	// MaxTasks is the most tasks of it in flight in a partition. 0: no bound.
	MaxTasks int `json:"max_tasks,omitempty"`
	// MaxPending is the most items of it that are accepted and not ended. 0: no bound.
	MaxPending int64 `json:"max_pending,omitempty"`
	// Paused lets nothing of it start.
	Paused bool `json:"paused,omitempty"`
}
