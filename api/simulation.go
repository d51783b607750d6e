package api

import "encoding/json"

// Simulation asks what would be if something were different: of a bulk action
// against the present load, or of a made-up system.
type Simulation struct {
	BulkAction  string             `json:"bulk_action,omitempty" doc:"The bulk action that is played against the present load, as if it started now" example:"ba_01k9x2v6w4s8m1c7q3d5f9h0jz"`
	Rates       map[string]Rate    `json:"rates,omitempty" doc:"What if resources had these rates?"`
	Concurrency map[string]int     `json:"concurrency,omitempty" doc:"What if resources took so many calls at once? 0: any number"`
	Pacing      map[string]string  `json:"pacing,omitempty" doc:"What if resources had smooth or full pacing?"`
	Workers     int                `json:"workers,omitempty" minimum:"0" maximum:"100000" doc:"What if each lane had at most so many workers?"`
	Weights     map[string]float64 `json:"weights,omitempty" doc:"What if tenants had these weights?"`
	World       json.RawMessage    `json:"world,omitempty" doc:"A made-up system instead of a bulk action, as a file of weir simulate has it: resources, tenants, bulk actions"`
	Runs        int                `json:"runs,omitempty" minimum:"0" maximum:"100" doc:"How often a made-up system is played, each time with other luck. Default 10"`
}

// Simulated is what would be.
type Simulated struct {
	Takes       Quantiles       `json:"takes" doc:"From the start to the end of all of it"`
	Finish      *Finish         `json:"finish,omitempty" doc:"When a bulk action would end if it started now"`
	Finished    bool            `json:"finished" doc:"It was played to its end; else takes is how far it was played"`
	Steps       []ForecastStep  `json:"steps" nullable:"false" doc:"Of a bulk action"`
	BulkActions []SimulatedBulk `json:"bulk_actions" nullable:"false" doc:"Of a made-up system"`
	Bottleneck  *Bottleneck     `json:"bottleneck,omitempty"`
	Workers     []PeakWorkers   `json:"workers" nullable:"false"`
	Shares      ShareCurve      `json:"shares"`
	Assumptions []string        `json:"assumptions" nullable:"false"`
}

// SimulatedBulk is how one bulk action of a made-up system would go.
type SimulatedBulk struct {
	Name   string    `json:"name"`
	Tenant string    `json:"tenant"`
	Items  int64     `json:"items"`
	Takes  Quantiles `json:"takes" doc:"Of a stream of them: what 99 of 100 stay below"`
}

// PeakWorkers is how many workers a resource would have at most.
type PeakWorkers struct {
	Resource string `json:"resource"`
	Peak     int    `json:"peak"`
}

// ShareCurve is what each tenant would get of all that is sent downstream, over time.
type ShareCurve struct {
	Tenants []string     `json:"tenants" nullable:"false" doc:"In the order of shares; others is all that are not named"`
	Points  []SharePoint `json:"points" nullable:"false" doc:"At most 200"`
}

// SharePoint is one moment of it.
type SharePoint struct {
	At     Duration  `json:"at" doc:"From the start; the point tells of the time since the one before"`
	Items  int64     `json:"items" doc:"Sent downstream in that time, at any step"`
	Shares []float64 `json:"shares" nullable:"false" doc:"From 0 to 1, by tenant"`
}
