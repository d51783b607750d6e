package api

import "encoding/json"

// Simulation asks for a simulation: of a bulk action with the current load, or of
// a described system.
type Simulation struct {
	BulkAction  string             `json:"bulk_action,omitempty" doc:"The bulk action to simulate with the current load, as if it started now" example:"ba_01k9x2v6w4s8m1c7q3d5f9h0jz"`
	Rates       map[string]Rate    `json:"rates,omitempty" doc:"Rates to assume, by resource"`
	Concurrency map[string]int     `json:"concurrency,omitempty" doc:"Concurrency to assume, by resource; 0: no limit"`
	Pacing      map[string]string  `json:"pacing,omitempty" doc:"Pacing to assume, by resource: smooth or full"`
	Workers     int                `json:"workers,omitempty" minimum:"0" maximum:"100000" doc:"Maximum workers of each lane to assume"`
	Weights     map[string]float64 `json:"weights,omitempty" doc:"Weights to assume, by tenant"`
	World       json.RawMessage    `json:"world,omitempty" doc:"A described system instead of a bulk action, in the format of a weir simulate file: resources, tenants, bulk actions"`
	Runs        int                `json:"runs,omitempty" minimum:"0" maximum:"100" doc:"How often to simulate a described system, each time with another seed. Default 10"`
}

// Simulated is the result of a simulation.
type Simulated struct {
	Takes       Quantiles       `json:"takes" doc:"From the start to the end of all work"`
	Finish      *Finish         `json:"finish,omitempty" doc:"When a bulk action would end if it started now"`
	Finished    bool            `json:"finished" doc:"Whether the simulation reached the end; if not, takes is the simulated time"`
	Steps       []ForecastStep  `json:"steps" nullable:"false" doc:"For a bulk action"`
	BulkActions []SimulatedBulk `json:"bulk_actions" nullable:"false" doc:"For a described system"`
	Bottleneck  *Bottleneck     `json:"bottleneck,omitempty"`
	Workers     []PeakWorkers   `json:"workers" nullable:"false"`
	Shares      ShareCurve      `json:"shares"`
	Assumptions []string        `json:"assumptions" nullable:"false"`
}

// SimulatedBulk is the result of one bulk action of a described system.
type SimulatedBulk struct {
	Name   string    `json:"name"`
	Tenant string    `json:"tenant"`
	Items  int64     `json:"items"`
	Takes  Quantiles `json:"takes" doc:"For a stream of bulk actions: the 99th percentile"`
}

// PeakWorkers is the maximum number of workers of a resource.
type PeakWorkers struct {
	Resource string `json:"resource"`
	Peak     int    `json:"peak"`
}

// ShareCurve shows the share of each tenant of all items sent downstream, over time.
type ShareCurve struct {
	Tenants []string     `json:"tenants" nullable:"false" doc:"In the order of shares; others stands for all other tenants"`
	Points  []SharePoint `json:"points" nullable:"false" doc:"At most 200"`
}

// SharePoint is one point of a [ShareCurve].
type SharePoint struct {
	At     Duration  `json:"at" doc:"Time since the start; the point covers the time since the previous point"`
	Items  int64     `json:"items" doc:"Items sent downstream in that time, at any step"`
	Shares []float64 `json:"shares" nullable:"false" doc:"From 0 to 1, by tenant"`
}
