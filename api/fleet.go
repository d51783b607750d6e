package api

import "time"

// Lane is one resource in one partition.
type Lane struct {
	Partition string    `json:"partition" example:"p03"`
	Lane      string    `json:"lane" example:"send-message"`
	Node      string    `json:"node,omitempty"`
	Workers   int       `json:"workers"`
	Need      float64   `json:"need"`
	Useful    float64   `json:"useful,omitempty"`
	PWQD      float64   `json:"pwqd" doc:"Ready tasks per worker"`
	Ready     int64     `json:"ready" doc:"Items"`
	Waiting   int64     `json:"waiting" doc:"Items"`
	InFlight  int       `json:"in_flight" doc:"Tasks"`
	Oldest    Duration  `json:"oldest_ready"`
	Cause     string    `json:"cause,omitempty" doc:"What holds it up now: rate, concurrency, slots, fair_share, paused, closed, …"`
	Decision  *Decision `json:"decision,omitempty" doc:"The newest one"`
	Pin       *Pin      `json:"pin,omitempty"`
}

// Decision is one decision about a lane's workers.
type Decision struct {
	Partition string             `json:"partition" example:"p03"`
	Lane      string             `json:"lane" example:"send-message"`
	Policy    string             `json:"policy,omitempty" doc:"Who decided"`
	At        time.Time          `json:"at"`
	Direction string             `json:"direction" enum:"up,down,hold"`
	From      int                `json:"from"`
	To        int                `json:"to"`
	Reason    string             `json:"reason"`
	Sentence  string             `json:"sentence"`
	Shadow    bool               `json:"shadow,omitempty"`
	Inputs    map[string]float64 `json:"inputs,omitempty"`
}

// Decisions are decisions about lanes, the newest first.
type Decisions struct {
	Data []Decision `json:"data" nullable:"false"`
}

// Pin sets a lane's workers by hand.
type Pin struct {
	Workers int       `json:"workers" minimum:"0"`
	Until   time.Time `json:"until"`
	Reason  string    `json:"reason" minLength:"1" maxLength:"256"`
}

// Partition is an independent queue.
type Partition struct {
	Partition string `json:"partition"`
	Owner     string `json:"owner,omitempty"`
	Lanes     int    `json:"lanes"`
	Ready     int64  `json:"ready"`
	InFlight  int    `json:"in_flight"`
}

// Node is a process that runs tasks.
type Node struct {
	Node       string  `json:"node"`
	Slots      int     `json:"slots"`
	Partitions int     `json:"partitions"`
	InFlight   int     `json:"in_flight"`
	CPU        float64 `json:"cpu"`
	Memory     float64 `json:"memory"`
	Leader     bool    `json:"leader,omitempty"`
}

// Scale is what an autoscaler of nodes wants to know.
type Scale struct {
	DesiredNodes   int    `json:"desired_nodes"`
	Nodes          int    `json:"nodes"`
	DesiredWorkers int    `json:"desired_workers"`
	Workers        int    `json:"workers"`
	Lanes          []Lane `json:"lanes" nullable:"false"`
}

// ScalingSettings is how workers follow the load, on all nodes. What is left out follows the nodes' options.
type ScalingSettings struct {
	Policy     string            `json:"policy,omitempty" maxLength:"64" doc:"Who decides: littles-law, or off for nobody" example:"littles-law"`
	Shadow     string            `json:"shadow,omitempty" maxLength:"64" doc:"A policy that decides as well and is not obeyed: its decisions are shown beside the others"`
	Min        int               `json:"min,omitempty" minimum:"0" maximum:"1000000" doc:"The fewest workers of a lane"`
	Max        int               `json:"max,omitempty" minimum:"0" maximum:"1000000" doc:"The most workers of a lane"`
	Drain      Duration          `json:"drain,omitempty" doc:"The time over which a backlog should be worked off"`
	Paused     string            `json:"paused,omitempty" maxLength:"256" doc:"Why no worker count is changed at present; empty: they are"`
	Timetables map[string]string `json:"timetables,omitempty" doc:"By resource: workers to hold ready at certain hours" example:"{\"send-message\":\"Fri 20:00 64\"}"`
	RateRules  map[string]string `json:"rate_rules,omitempty" doc:"By resource: how a rate is learned from refusals, estimate or aimd"`
}

// TenantShare is what a tenant should get of a resource, and what it gets.
type TenantShare struct {
	Resource string  `json:"resource"`
	Tenant   string  `json:"tenant"`
	Weight   float64 `json:"weight"`
	Entitled float64 `json:"entitled" doc:"The part of what the resource does that it should get by its weight, the tiers of its work and what it has to do, from 0 to 1"`
	Actual   float64 `json:"actual" doc:"The part that it got lately, from 0 to 1"`
	InFlight int     `json:"in_flight" doc:"Its tasks in the partitions that have work of it for the resource"`
	Ready    int64   `json:"ready" doc:"Items that could run"`
	Rate     float64 `json:"rate" doc:"Items started per second, lately"`
}

// Fairness is how the tenants with the most work share resources.
type Fairness struct {
	Data []TenantShare `json:"data" nullable:"false"`
}

// DLQGroup is failed items that nobody has retried or discarded, and that look alike.
type DLQGroup struct {
	ErrorGroup
	BulkActions int    `json:"bulk_actions"`
	Tenant      string `json:"tenant,omitempty"`
}

// DLQGroups are all failed items that are left, by kind.
type DLQGroups struct {
	Data []DLQGroup `json:"data" nullable:"false"`
}

// DLQFilter says which failed items are meant.
type DLQFilter struct {
	BulkAction string    `json:"bulk_action,omitempty"`
	Tenant     string    `json:"tenant,omitempty"`
	Action     string    `json:"action,omitempty"`
	Step       string    `json:"step,omitempty"`
	Code       string    `json:"code,omitempty"`
	Message    string    `json:"message,omitempty" doc:"The group's message"`
	Since      time.Time `json:"since,omitzero" doc:"Only bulk actions that were submitted later"`
	Expression string    `json:"expression,omitempty" doc:"As in retry"`
}

// DLQRetry tries failed items again.
type DLQRetry struct {
	Filter  DLQFilter `json:"filter"`
	All     bool      `json:"all,omitempty" doc:"Retry every failed item: an empty filter is refused without it"`
	Rate    Rate      `json:"rate,omitempty"`
	NewKeys bool      `json:"new_keys,omitempty" doc:"Give the items new idempotency keys, as in retry"`
	Reason  string    `json:"reason,omitempty" maxLength:"256"`
}

// DLQDiscard gives failed items up.
type DLQDiscard struct {
	Filter DLQFilter `json:"filter"`
	All    bool      `json:"all,omitempty" doc:"Discard every failed item: an empty filter is refused without it"`
	Reason string    `json:"reason" minLength:"1" maxLength:"256"`
}

// Discarded is how many items were given up.
type Discarded struct {
	Items int64 `json:"items"`
}

// Health is how the server is.
type Health struct {
	Status     string   `json:"status" enum:"ok,degraded,stopping"`
	Version    string   `json:"version"`
	Node       string   `json:"node,omitempty"`
	Durability string   `json:"durability,omitempty"`
	Problems   []string `json:"problems,omitempty" nullable:"false"`
}
