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
	TasksIn   float64   `json:"tasks_in" doc:"Tasks that became ready per second, lately; 0 until they were counted twice"`
	TasksOut  float64   `json:"tasks_out" doc:"Tasks that ended per second, lately"`
	Oldest    Duration  `json:"oldest_ready"`
	Cause     string    `json:"cause,omitempty" doc:"What it waits for now: rate, concurrency, slots, fair_share, paused, closed, …"`
	Decision  *Decision `json:"decision,omitempty" doc:"The newest decision"`
	Pin       *Pin      `json:"pin,omitempty"`
}

// Decision is one decision about a lane's workers.
type Decision struct {
	Partition string             `json:"partition" example:"p03"`
	Lane      string             `json:"lane" example:"send-message"`
	Policy    string             `json:"policy,omitempty" doc:"The policy that decided"`
	At        time.Time          `json:"at"`
	Direction string             `json:"direction" enum:"up,down,hold"`
	From      int                `json:"from"`
	To        int                `json:"to"`
	Reason    string             `json:"reason"`
	Sentence  string             `json:"sentence"`
	Shadow    bool               `json:"shadow,omitempty"`
	Inputs    map[string]float64 `json:"inputs,omitempty"`
}

// Decisions holds decisions about lanes, the newest first.
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
	InFlight   int     `json:"in_flight" doc:"Tasks on the resources that the key sees"`
	CPU        float64 `json:"cpu,omitzero" doc:"From 0 to 1. Not for keys bound to tenants: it shows the load of others"`
	Memory     float64 `json:"memory,omitzero" doc:"From 0 to 1. Not for keys bound to tenants"`
	Leader     bool    `json:"leader,omitempty"`
}

// Scale holds the figures for an autoscaler of nodes.
type Scale struct {
	DesiredNodes   int    `json:"desired_nodes"`
	Nodes          int    `json:"nodes"`
	DesiredWorkers int    `json:"desired_workers" doc:"Of the lanes that the key sees"`
	Workers        int    `json:"workers" doc:"Of the lanes that the key sees"`
	Lanes          []Lane `json:"lanes" nullable:"false"`
}

// Partitioning says over how many partitions new work is spread.
type Partitioning struct {
	Partitions int `json:"partitions" minimum:"1" maximum:"256" doc:"Independent queues for new work, over all nodes" example:"64"`
}

// PartitioningStatus is a partitioning with what became of earlier ones.
type PartitioningStatus struct {
	Partitioning
	Kept     int  `json:"kept" doc:"Partitions including those that only end the work they hold"`
	Changing bool `json:"changing,omitempty" doc:"The change to this number is under way"`
}

// ScalingSettings holds the scaling settings of all nodes. Omitted fields have the default of each node.
type ScalingSettings struct {
	Policy     string            `json:"policy,omitempty" maxLength:"64" doc:"The scaling policy: littles-law, or off" example:"littles-law"`
	Shadow     string            `json:"shadow,omitempty" maxLength:"64" doc:"A policy whose decisions are recorded but not applied"`
	Min        int               `json:"min,omitempty" minimum:"0" maximum:"1000000" doc:"Minimum workers of a lane"`
	Max        int               `json:"max,omitempty" minimum:"0" maximum:"1000000" doc:"Maximum workers of a lane"`
	Drain      Duration          `json:"drain,omitempty" doc:"Target time to work off a backlog"`
	Paused     string            `json:"paused,omitempty" maxLength:"256" doc:"Why scaling is paused; empty: it is not"`
	Timetables map[string]string `json:"timetables,omitempty" doc:"By resource: workers to keep ready at certain times" example:"{\"send-message\":\"Fri 20:00 64\"}"`
	RateRules  map[string]string `json:"rate_rules,omitempty" doc:"By resource: how a rate is learned from refusals, estimate or aimd"`
}

// TenantShare holds the fair and the actual share of a tenant of a resource.
type TenantShare struct {
	Resource string  `json:"resource"`
	Tenant   string  `json:"tenant"`
	Weight   float64 `json:"weight"`
	Entitled float64 `json:"entitled" doc:"The fair share, by the tenant's weight, the tiers of its work and its demand, from 0 to 1"`
	Actual   float64 `json:"actual" doc:"The recent actual share, from 0 to 1"`
	InFlight int     `json:"in_flight" doc:"The tenant's tasks in partitions that have its work for the resource"`
	Ready    int64   `json:"ready" doc:"Items ready to run"`
	Rate     float64 `json:"rate" doc:"Items started per second, recently"`
	Text     string  `json:"text" doc:"Why the actual share is not the fair one, or that it is" example:"Borrows 20 points from growth."`
}

// Fairness shows how the tenants with the most work share resources.
type Fairness struct {
	Data []TenantShare `json:"data" nullable:"false"`
}

// DLQGroup is a group of similar failed items that were not retried or discarded.
type DLQGroup struct {
	ErrorGroup
	BulkActions int    `json:"bulk_actions"`
	Tenant      string `json:"tenant,omitempty"`
}

// DLQGroups holds failed items that were not retried or discarded, by group.
type DLQGroups struct {
	Data   []DLQGroup `json:"data" nullable:"false"`
	Groups int        `json:"groups" doc:"Matching groups, also those beyond the limit"`
	Items  int64      `json:"items" doc:"Failed items in all matching groups"`
}

// DLQFilter selects failed items.
type DLQFilter struct {
	BulkAction string    `json:"bulk_action,omitempty"`
	Tenant     string    `json:"tenant,omitempty"`
	Action     string    `json:"action,omitempty"`
	Step       string    `json:"step,omitempty"`
	Code       string    `json:"code,omitempty"`
	Message    string    `json:"message,omitempty" doc:"Message of the error group"`
	Since      time.Time `json:"since,omitzero" doc:"Only bulk actions submitted since this time"`
	Expression string    `json:"expression,omitempty" doc:"As in retry"`
}

// DLQRetry retries failed items.
type DLQRetry struct {
	Filter  DLQFilter `json:"filter"`
	All     bool      `json:"all,omitempty" doc:"Retry every failed item. Without it, an empty filter is refused"`
	Rate    Rate      `json:"rate,omitempty"`
	NewKeys bool      `json:"new_keys,omitempty" doc:"Give the items new idempotency keys, as in retry"`
	Reason  string    `json:"reason,omitempty" maxLength:"256"`
}

// DLQDiscard discards failed items.
type DLQDiscard struct {
	Filter DLQFilter `json:"filter"`
	All    bool      `json:"all,omitempty" doc:"Discard every failed item. Without it, an empty filter is refused"`
	Reason string    `json:"reason" minLength:"1" maxLength:"256"`
}

// Discarded holds the number of discarded items.
type Discarded struct {
	Items int64 `json:"items"`
}

// Health is the health of the server.
type Health struct {
	Status     string   `json:"status" enum:"ok,degraded,stopping"`
	Version    string   `json:"version"`
	Node       string   `json:"node,omitempty"`
	Durability string   `json:"durability,omitempty"`
	Problems   []string `json:"problems,omitempty" nullable:"false"`
}
