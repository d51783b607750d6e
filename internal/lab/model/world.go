package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// World describes a system and the work that comes to it. What is left out has a
// default; [World.Validate] says what is wrong.
type World struct {
	Name  string `yaml:"name,omitempty"  json:"name,omitempty"`
	About string `yaml:"about,omitempty" json:"about,omitempty"`
	// Seed is the random seed. Default 1.
	Seed uint64 `yaml:"seed,omitempty" json:"seed,omitempty"`
	// Length is how long the world is simulated. Default: until all work has ended, at most a day.
	Length Span `yaml:"length,omitempty" json:"length,omitempty"`
	// StopAfter names a bulk action: the simulation stops once it has ended.
	StopAfter string `yaml:"stop_after,omitempty" json:"stop_after,omitempty"`
	// MaxTasks stops the simulation after so many tasks, so that the result comes in
	// time. Default: unlimited.
	MaxTasks int `yaml:"max_tasks,omitempty" json:"max_tasks,omitempty"`
	// Nodes share the partitions. Default: one with 64 slots.
	Nodes []Node `yaml:"nodes,omitempty" json:"nodes,omitempty"`
	// Partitions is how many there are in all. Default 8, as an engine on two cores has.
	Partitions int `yaml:"partitions,omitempty" json:"partitions,omitempty"`
	// Workers are those of each lane, which is one resource in one partition.
	Workers     Workers      `yaml:"workers,omitempty"      json:"workers,omitzero"`
	Resources   []Resource   `yaml:"resources"              json:"resources"`
	Tenants     []Tenant     `yaml:"tenants,omitempty"      json:"tenants,omitempty"`
	BulkActions []BulkAction `yaml:"bulk_actions"           json:"bulk_actions"`
}

// Node is a machine.
type Node struct {
	// Slots is how many tasks it runs at once at most, over all lanes.
	Slots int `yaml:"slots" json:"slots"`
}

// Workers says how many tasks of a lane may be in flight, and who decides that.
type Workers struct {
	// Start is the number at first. Default 8, or the nearest that Min and Max allow.
	Start int `yaml:"start,omitempty" json:"start,omitempty"`
	// Min and Max bound what the policy may decide. Defaults: Start, and 64; equal ones fix the number.
	Min int `yaml:"min,omitempty" json:"min,omitempty"`
	Max int `yaml:"max,omitempty" json:"max,omitempty"`
	// Policy is a name that package scale knows. Default: that of package scale.
	Policy string `yaml:"policy,omitempty" json:"policy,omitempty"`
}

// Resource is something downstream: the limits that weir was told, and how it truly behaves.
type Resource struct {
	Name string `yaml:"name" json:"name"`
	// Rate is the most items per second, Concurrency the most calls at once. Default: unlimited.
	Rate        Rate `yaml:"rate,omitempty"        json:"rate,omitempty"`
	Concurrency int  `yaml:"concurrency,omitempty" json:"concurrency,omitempty"`
	// Pacing is smooth for an even stream, or full for few calls. Default smooth.
	Pacing string `yaml:"pacing,omitempty" json:"pacing,omitempty"`
	// Timeout ends a call. Default 30s.
	Timeout Span `yaml:"timeout,omitempty" json:"timeout,omitempty"`
	// Attempts is how often an item is tried. Default 5.
	Attempts int `yaml:"attempts,omitempty" json:"attempts,omitempty"`
	// Backoff is the wait before the second attempt, which doubles with each up to
	// BackoffCap. Defaults 1s and 5m.
	Backoff    Span `yaml:"backoff,omitempty"     json:"backoff,omitempty"`
	BackoffCap Span `yaml:"backoff_cap,omitempty" json:"backoff_cap,omitempty"`
	// Workers are those of its lanes at first, at the most that all may have. Default: as the world says.
	Workers int `yaml:"workers,omitempty" json:"workers,omitempty"`
	// Flow says whether weir slows down by itself when the downstream is in trouble:
	// on, off, or aimd for the other rule of the rate. Default on.
	Flow       string     `yaml:"flow,omitempty" json:"flow,omitempty"`
	Downstream Downstream `yaml:"downstream"     json:"downstream"`
}

// Downstream describes the behaviour that is not configured and that weir has to detect.
type Downstream struct {
	// Latency is the mean time of a call, and P99 what 99 of 100 calls stay below:
	// from the mean to ten times that. Default: twice the mean.
	Latency Span `yaml:"latency"       json:"latency"`
	P99     Span `yaml:"p99,omitempty" json:"p99,omitempty"`
	// Failures is the share of calls that fail and are tried again, Retries the share
	// of items of the others that are tried again, and Rejects the share of items that
	// fail for good.
	Failures Percent `yaml:"failures,omitempty" json:"failures,omitempty"`
	Retries  Percent `yaml:"retries,omitempty"  json:"retries,omitempty"`
	Rejects  Percent `yaml:"rejects,omitempty"  json:"rejects,omitempty"`
	// Refusals is the share of calls that it refuses whatever the load. It is for experiments.
	Refusals Percent `yaml:"-" json:"-"`
	// Capacity is how many items per second it truly takes. Default: any number.
	Capacity Rate `yaml:"capacity,omitempty" json:"capacity,omitempty"`
	// Overload says what happens beyond the capacity: refuse (as with 429) or slow. Default refuse.
	Overload string `yaml:"overload,omitempty" json:"overload,omitempty"`
	// Burst is how much of its capacity it takes at once before it refuses. Default 100ms.
	Burst Span `yaml:"burst,omitempty" json:"burst,omitempty"`
	// RetryAfter is how long a refusal asks to wait. Default 1s.
	RetryAfter Span       `yaml:"retry_after,omitempty" json:"retry_after,omitempty"`
	Incidents  []Incident `yaml:"incidents,omitempty"   json:"incidents,omitempty"`
}

// Incident is a time in which the downstream behaves differently. What is left out stays as it was.
type Incident struct {
	From     Span    `yaml:"from,omitempty"     json:"from,omitempty"`
	For      Span    `yaml:"for"                json:"for"`
	Latency  Span    `yaml:"latency,omitempty"  json:"latency,omitempty"`
	P99      Span    `yaml:"p99,omitempty"      json:"p99,omitempty"`
	Failures Percent `yaml:"failures,omitempty" json:"failures,omitempty"`
	Capacity Rate    `yaml:"capacity,omitempty" json:"capacity,omitempty"`
}

// Tenant gives a tenant a weight. One that is not listed has 1.
type Tenant struct {
	Name string `yaml:"name" json:"name"`
	// Weight is the share of the tenant beside others, from 0.01 to 1000.
	Weight float64 `yaml:"weight" json:"weight"`
	// MaxTasks is the most tasks of it in flight on a node. Default: no bound.
	MaxTasks int `yaml:"max_tasks,omitempty" json:"max_tasks,omitempty"`
}

// BulkAction is one bulk action, or with Arrivals a stream of them.
type BulkAction struct {
	Name string `yaml:"name" json:"name"`
	// Tenant is whose it is. Default: its name. With Spread, the bulk actions of a
	// stream come from so many tenants by chance.
	Tenant string `yaml:"tenant,omitempty" json:"tenant,omitempty"`
	Spread int    `yaml:"spread,omitempty" json:"spread,omitempty"`
	// At is when it comes, or when the stream begins.
	At Span `yaml:"at,omitempty" json:"at,omitempty"`
	// Arrivals is how many come per second on average, by chance, until Until.
	// Default of Until: the world's length.
	Arrivals Rate `yaml:"arrivals,omitempty" json:"arrivals,omitempty"`
	Until    Span `yaml:"until,omitempty"    json:"until,omitempty"`
	// Items is its size; with ItemsP99, up to ten times that, the mean size.
	Items    int64 `yaml:"items"               json:"items"`
	ItemsP99 int64 `yaml:"items_p99,omitempty" json:"items_p99,omitempty"`
	// Tier is critical, high, default or low; Priority orders inside a tenant.
	Tier     string `yaml:"tier,omitempty"     json:"tier,omitempty"`
	Priority int    `yaml:"priority,omitempty" json:"priority,omitempty"`
	// Deadline is how long after it has come it ends with what is done by then. Default: none.
	Deadline Span `yaml:"deadline,omitempty" json:"deadline,omitempty"`
	// Target is the same, but that it goes on. It is for forecasts, which have to tell by how much it is missed.
	Target Span `yaml:"-" json:"-"`
	// Batch is the most items in a call. Default 100.
	Batch int `yaml:"batch,omitempty" json:"batch,omitempty"`
	// Batches are the same for each step, where they differ. Default: Batch everywhere.
	Batches []int `yaml:"batches,omitempty" json:"batches,omitempty"`
	// Rates are the most items per second of this bulk action at each step, whatever
	// its resource would take; 0 is none. Default: none anywhere.
	Rates []Rate `yaml:"rates,omitempty" json:"rates,omitempty"`
	// Concurrency is the most tasks of this bulk action in flight. Default: no bound.
	Concurrency int `yaml:"concurrency,omitempty" json:"concurrency,omitempty"`
	// Steps are the resources that each item passes, in order.
	Steps []string `yaml:"steps" json:"steps"`
	// Skips are the shares of items that pass each step without a call, and LeftOut
	// those that end there without one, as a condition has it. Default: none anywhere.
	Skips   []Percent `yaml:"skips,omitempty"    json:"skips,omitempty"`
	LeftOut []Percent `yaml:"left_out,omitempty" json:"left_out,omitempty"`
	// Standing is how many of the items have come to each step before the beginning
	// and are ready there, and Flying how many are being called. What is in
	// neither, nor in Waiting, has not begun.
	Standing []int64 `yaml:"standing,omitempty" json:"standing,omitempty"`
	Flying   []int64 `yaml:"flying,omitempty"   json:"flying,omitempty"`
	// Waiting is how many of the items wait at each step for their next attempt, and
	// Due when the last of them is due.
	Waiting []int64 `yaml:"waiting,omitempty" json:"waiting,omitempty"`
	Due     Span    `yaml:"due,omitempty"     json:"due,omitempty"`
}

// The ways of flow control, and of a downstream beyond its capacity.
const (
	FlowOn   = "on"
	FlowOff  = "off"
	FlowAIMD = "aimd"
	Refuse   = "refuse"
	Slow     = "slow"
)

// longest is how long a world is watched that does not say.
const longest = Span(24 * time.Hour)

// withDefaults is w with everything filled in. It shares nothing with w.
func (w World) withDefaults() World {
	w.Seed = cmp.Or(w.Seed, 1)
	w.Nodes = slices.Clone(w.Nodes)
	if len(w.Nodes) == 0 {
		w.Nodes = []Node{{Slots: 64}}
	}
	w.Partitions = cmp.Or(w.Partitions, 8)
	w.Workers.Max = cmp.Or(w.Workers.Max, max(64, w.Workers.Min, w.Workers.Start))
	w.Workers.Start = cmp.Or(w.Workers.Start, max(min(8, w.Workers.Max), w.Workers.Min))
	w.Workers.Min = cmp.Or(w.Workers.Min, w.Workers.Start)
	w.Resources = slices.Clone(w.Resources)
	for i := range w.Resources {
		w.Resources[i].fill()
	}
	w.BulkActions = slices.Clone(w.BulkActions)
	for i := range w.BulkActions {
		b := &w.BulkActions[i]
		b.Tenant = cmp.Or(b.Tenant, b.Name)
		b.Tier = cmp.Or(b.Tier, "default")
		b.Batch = cmp.Or(b.Batch, 100)
		b.Until = cmp.Or(b.Until, w.Length)
	}
	return w
}

// fill sets what was left out.
func (r *Resource) fill() {
	r.Timeout = cmp.Or(r.Timeout, Span(30*time.Second))
	r.Attempts = cmp.Or(r.Attempts, 5)
	r.Flow = cmp.Or(r.Flow, FlowOn)
	r.Pacing = cmp.Or(r.Pacing, string(weir.PacingSmooth))
	d := &r.Downstream
	d.P99 = cmp.Or(d.P99, 2*d.Latency)
	d.Overload = cmp.Or(d.Overload, Refuse)
	d.Burst = cmp.Or(d.Burst, Span(100*time.Millisecond))
	d.RetryAfter = cmp.Or(d.RetryAfter, Span(time.Second))
	d.Incidents = slices.Clone(d.Incidents)
	for i := range d.Incidents {
		in := &d.Incidents[i]
		if in.P99 == 0 && in.Latency > 0 { // as much wider as usual
			in.P99 = Span(float64(in.Latency) * float64(d.P99) / float64(max(d.Latency, 1)))
		}
		in.Latency, in.P99 = cmp.Or(in.Latency, d.Latency), cmp.Or(in.P99, d.P99)
		in.Failures = cmp.Or(in.Failures, d.Failures)
		in.Capacity = cmp.Or(in.Capacity, d.Capacity)
	}
}

// batch returns the most items in a call of a step.
func (b *BulkAction) batch(step int) int {
	if step < len(b.Batches) {
		return b.Batches[step]
	}
	return b.Batch
}

// own returns the bulk action's own rate at a step; 0: it has none there.
func (b *BulkAction) own(step int) Rate { return at(b.Rates, step) }

// at is entry i of a list that may end before.
func at[T any](list []T, i int) (x T) {
	if i < len(list) {
		x = list[i]
	}
	return x
}
