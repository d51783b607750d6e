package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/store"
)

// counts is what this node has counted since it was opened, for its metrics.
// Loops count for themselves and hand over what they have once a second, so that
// a task costs a few additions.
type counts struct {
	since      time.Time
	late       atomic.Int64 // results that came after their task was given up
	leasesLost atomic.Int64
	violations atomic.Int64 // bulk actions whose counts did not add up

	mu       sync.Mutex
	actions  map[string]*actionCounts
	finished map[finish]int64
	outcomes map[string]int64 // of bulk actions that ended
	ingested map[ingestion]int64
	tenants  labels
	waiting  map[string]float64 // seconds of bulk actions, by reason
	blocked  map[string]float64 // seconds of lanes, by resource
	starved  map[string]float64 // seconds of tenants
	circuits map[transition]int64
	commits  spread
}

type (
	finish     struct{ action, tenant, state string }
	ingestion  struct{ tenant, source string }
	transition struct{ resource, to string }
)

// actionCounts is what was counted of an action.
type actionCounts struct {
	results                      [len(resultNames)]int64 // items by how an attempt ended
	took, itemsTook, items, wait spread
}

// resultNames are how attempts at items end.
var resultNames = [...]string{"done", "failed", "left_out", "retry", "refused"}

// finishStates are how items end, and outcomeNames how bulk actions do.
var (
	finishStates = [...]string{"done", "failed", "cancelled"}
	outcomeNames = [...]string{"all_done", "some_failed", "some_cancelled", "cancelled", "failed"}
)

// newCounts makes counters. Those whose labels are known begin at 0: an alert on an
// increase does not see a series that begins above.
func newCounts() counts {
	return counts{
		since: time.Now(), actions: map[string]*actionCounts{}, finished: map[finish]int64{}, outcomes: zeros[int64](outcomeNames[:]), ingested: map[ingestion]int64{},
		tenants: newLabels(time.Now()), waiting: zeros[float64](sched.WaitingOn()), blocked: map[string]float64{}, starved: map[string]float64{}, circuits: map[transition]int64{},
	}
}

// zeros returns counters that are 0, by label.
func zeros[N int64 | float64](labels []string) map[string]N {
	all := make(map[string]N, len(labels))
	for _, l := range labels {
		all[l] = 0
	}
	return all
}

// knowResource has the counters of a resource begin at 0.
func (c *counts) knowResource(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocked[name] += 0
	for _, to := range []flow.Phase{flow.Open, flow.HalfOpen, flow.Closed} {
		c.circuits[transition{name, string(to)}] += 0
	}
}

// KnowActions has the counters of actions begin at 0 before they are used first, so
// that alerts on an increase see the first failure. Actions of bulk actions that
// are here are known.
func (e *Engine) KnowActions(names ...string) {
	c := &e.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		if c.actions[name] == nil {
			c.actions[name] = &actionCounts{}
		}
	}
}

// accepted counts the items of a bulk action that was accepted.
func (c *counts) accepted(b *partition.Created, drafted bool) {
	source := "submit"
	switch {
	case b.RetryOf != "":
		source = "retry"
	case drafted:
		source = "draft"
	}
	c.mu.Lock()
	c.ingested[ingestion{c.tenants.of(b.Tenant, b.Items), source}] += b.Items
	c.mu.Unlock()
}

// add takes over what a loop has counted.
func (c *counts) add(t *tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, a := range t.actions {
		to := c.actions[name]
		if to == nil {
			to = &actionCounts{}
			c.actions[name] = to
		}
		for i, n := range a.results {
			to.results[i] += n
		}
		to.took.merge(&a.took)
		to.itemsTook.merge(&a.itemsTook)
		to.items.merge(&a.items)
		to.wait.merge(&a.wait)
		*a = actionCounts{}
	}
	for f, n := range t.finished {
		f.tenant = c.tenants.of(f.tenant, n)
		c.finished[f] += n
		c.starved[f.tenant] += 0
	}
	for o, n := range t.outcomes {
		c.outcomes[o] += n
	}
	for r, s := range t.waiting {
		c.waiting[r] += s
	}
	clear(t.finished)
	clear(t.outcomes)
	clear(t.waiting)
}

// timedCommit is tryCommit with a watch.
func (p *part) timedCommit(ctx context.Context, b *store.Batch) error {
	began := time.Now()
	err := p.tryCommit(ctx, b)
	c := &p.engine.counts
	c.mu.Lock()
	c.commits.add(time.Since(began).Seconds(), 1)
	c.mu.Unlock()
	return err
}

// counted hands over what the loop has counted when it has ended.
func (p *part) counted(err error) {
	p.engine.counts.add(&p.tally)
	if errors.Is(err, store.ErrFenced) {
		p.engine.counts.leasesLost.Add(1)
	}
}
