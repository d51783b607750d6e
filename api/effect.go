package api

import "time"

// LimitChanges holds limits that may be changed, to ask what the change would do.
type LimitChanges struct {
	Resources map[string]Resource        `json:"resources,omitempty" doc:"By resource: rate, concurrency and pacing. Omitted limits stay as they are"`
	Weights   map[string]float64         `json:"weights,omitempty" doc:"By tenant"`
	Rates     map[string]map[string]Rate `json:"rates,omitempty" doc:"A bulk action's own rates, by its id and by step; unlimited removes one"`
}

// Effect says when running bulk actions end now, and when they would end with changed limits.
type Effect struct {
	At          time.Time  `json:"at" doc:"When it was simulated"`
	BulkActions []EffectOn `json:"bulk_actions" nullable:"false" doc:"Running bulk actions that use a resource concerned, those with the most items left first"`
	LeftOut     int        `json:"left_out" doc:"Running bulk actions concerned that were not simulated, because the time for an answer was over"`
	Assumptions []string   `json:"assumptions" nullable:"false"`
}

// EffectOn is the effect of changed limits on one bulk action.
type EffectOn struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Tenant string    `json:"tenant"`
	Items  int64     `json:"items" doc:"Items that have not ended"`
	Ends   time.Time `json:"ends_at,omitzero" doc:"The likely end with the limits of now; omitted: unknown"`
	Then   time.Time `json:"ends_at_then,omitzero" doc:"The likely end with the changed limits; omitted: unknown"`
	Text   string    `json:"text" doc:"The difference, for people" example:"ends 5m earlier"`
}
