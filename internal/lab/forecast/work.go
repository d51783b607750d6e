package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// Work is a bulk action, or what is left of it.
type Work struct {
	Name   string
	Tenant string
	// Weight is the tenant's share beside others. Default 1.
	Weight   float64
	Tier     weir.Tier
	Priority int
	// Concurrency is the most calls of it at once, and MaxTasks those of its tenant on a node. Default: no bound.
	Concurrency int
	MaxTasks    int
	// Items have not ended. Of them Standing have come to each step, Flying are being
	// called there and Waiting wait there for their next attempt, the last of them for
	// Due; the others have not begun.
	Items    int64
	Standing []int64
	Flying   []int64
	Waiting  []int64
	Due      time.Duration
	Steps    []Step
	// Delay is how long it is until it starts. Default: it starts now.
	Delay time.Duration
	// Deadline is when it has to be done, from its start. Default: none.
	Deadline time.Duration

	scheduled bool // it had a delay, which may be over when other work starts
}

// Step is one step of it.
type Step struct {
	Name string
	// Action is for people; Resource is one of [Load].Resources.
	Action   string
	Resource string
	// Batch is the most items in a call. Default 100.
	Batch int
	// Rate is the most items per second of this work at this step, whatever the resource would take. Default: none.
	Rate weir.Rate
	// Conditional says that it has a condition, so that it may be left out for some
	// items. As far as that is known, the share Skips passes it without a call, and the
	// share LeftOut ends there without one, by a look at Looked items.
	Conditional    bool
	Skips, LeftOut float64
	Looked         int64
}

// Load is the system as it is now.
type Load struct {
	Resources []Resource
	// Others are the bulk actions that run, and those that are scheduled. At their deadlines they end with what is done.
	Others []Work
	// Nodes share the partitions; each runs up to Slots tasks at once. Defaults 1 and 64.
	Nodes, Slots int
	// Partitions is how many there are. Default: one for each node.
	Partitions int
	// Workers bound the tasks in flight of a lane: those at first, and the most. Defaults 8 and 64.
	Workers, MaxWorkers int
}

// Resource is something downstream, with its limits and what is known of it.
type Resource struct {
	Name        string
	Rate        weir.Rate // items per second; 0: unlimited
	Concurrency int       // calls at once; 0: unlimited
	Pacing      weir.Pacing
	// Service is the mean time of a call and P99 what 99 of 100 stay below, as seen
	// over Samples calls. Default: unknown, and a duration is assumed.
	Service, P99 time.Duration
	Samples      int64
	// Failures is the share of calls that are tried again, Retries the share of items
	// of the other calls that are, and Rejects the share of items that end there.
	Failures, Retries, Rejects float64
	// Timeout ends a call; an item is tried as Backoff says. Defaults 30s, and those of Backoff.
	Timeout time.Duration
	Backoff weir.Backoff
	// Workers are those of all lanes that have work now.
	Workers int
	// Arrivals is how many items per second of new work other tenants bring.
	Arrivals float64
}

// check lists what makes the work or the load impossible.
func check(w *Work, l *Load) error {
	var errs weir.InputError
	if w.Items < 1 {
		errs.Add("no_items", "items", fmt.Sprintf("is %d", w.Items), "add items first")
	}
	if len(w.Steps) == 0 || len(w.Steps) > weir.MaxSteps {
		errs.Add("out_of_range", "steps", fmt.Sprintf("has %d entries", len(w.Steps)), fmt.Sprintf("name 1 to %d", weir.MaxSteps))
	}
	begun := int64(0)
	for _, n := range slices.Concat(w.Standing, w.Flying, w.Waiting) {
		begun += n
	}
	if begun > w.Items || max(len(w.Standing), len(w.Flying), len(w.Waiting)) > len(w.Steps) {
		errs.Add("out_of_range", "items", fmt.Sprintf("is %d, but %d have begun", w.Items, begun), "count each once")
	}
	if w.Delay < 0 || w.Deadline < 0 {
		errs.Add("out_of_range", "start_at", "is in the past", "leave it out to start now")
	}
	for i, s := range w.Steps {
		if s.Rate < 0 {
			errs.Add("out_of_range", fmt.Sprintf("steps[%d].rate", i), fmt.Sprintf("%v is below 0", float64(s.Rate)),
				"leave it out for none")
		}
		if l.resource(s.Resource) == nil {
			errs.Add("unknown_resource", fmt.Sprintf("steps[%d].resource", i), fmt.Sprintf("unknown resource %q", s.Resource), "")
		}
	}
	return errs.OrNil()
}

// step returns which of its steps is the first on a resource, -1 if none is.
func (w *Work) step(resource string) int {
	return slices.IndexFunc(w.Steps, func(s Step) bool { return s.Resource == resource })
}

// sized returns a batch within its bounds.
func sized(batch int) int { return min(max(cmp.Or(batch, 100), 1), 1000) }

// at is entry i of a list that may end before.
func at[T any](list []T, i int) (x T) {
	if i < len(list) {
		x = list[i]
	}
	return x
}

func (l *Load) resource(name string) *Resource {
	for i := range l.Resources {
		if l.Resources[i].Name == name {
			return &l.Resources[i]
		}
	}
	return nil
}
