package telemetry

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/core/sched"
)

// Recorder holds what this node has counted since it was opened, and what it observed last, for its metrics.
// Loops count for themselves and hand over what they have once a second, so that
// a task costs a few additions.
type Recorder struct {
	since  time.Time
	slots  int                         // of this node
	nodes  int                         // that this one knew of at the last look
	weight func(tenant string) float64 // what a tenant has beside others

	Late       atomic.Int64 // results that came after their task was given up
	LeasesLost atomic.Int64
	Violations atomic.Int64              // bulk actions whose counts did not add up
	Seen       atomic.Pointer[weir.Node] // what this node observed of its lanes last; nil: it has not looked yet
	Plan       atomic.Pointer[weir.Plan] // what this node thinks of all lanes if it leads

	// Fair is the index of [Fairness] over all nodes, by resource, if this node leads.
	Fair atomic.Pointer[map[string]float64]

	mu       sync.Mutex
	actions  map[string]*actionCounts
	finished map[finish]int64
	outcomes map[string]int64 // of bulk actions that ended
	ingested map[ingestion]int64
	starts   [len(targets)]starts     // by tier
	slowdown [len(sizeClasses)]spread // by size
	tenants  labels
	waiting  map[string]float64 // seconds of bulk actions, by reason
	blocked  map[string]float64 // seconds of lanes, by resource
	starved  map[string]float64 // seconds of tenants
	circuits map[transition]int64
	tallies  map[string]*Tally  // by resource; of all under the empty name
	decided  map[decision]int64 // by this node as the leader
	commits  spread
}

type (
	finish     struct{ action, tenant, state string }
	ingestion  struct{ tenant, source string }
	transition struct{ resource, to string }
	decision   struct{ direction, reason string }
)

// actionCounts is what was counted of an action.
type actionCounts struct {
	results                      [len(resultNames)]int64 // items by how an attempt ended
	took, itemsTook, items, wait spread
}

// resultNames are how attempts at items end.
var resultNames = [...]string{"done", "failed", "left_out", "retry", "refused"}

// sourceNames are the ways in which items come.
var sourceNames = [...]string{"submit", "retry", "draft"}

// finishStates are how items end, and outcomeNames how bulk actions do.
var (
	finishStates = [...]string{"done", "failed", "cancelled"}
	outcomeNames = [...]string{"all_done", "some_failed", "some_cancelled", "cancelled", "failed"}
)

// New makes the recorder of a node with so many slots. Counters whose labels are known begin at 0: an alert on an
// increase does not see a series that begins above.
func New(slots int, weight func(tenant string) float64) *Recorder {
	return &Recorder{
		since: time.Now(), slots: slots, weight: weight, tenants: newLabels(time.Now()),
		actions: map[string]*actionCounts{}, finished: map[finish]int64{}, outcomes: zeros[int64](outcomeNames[:]),
		ingested: map[ingestion]int64{},
		waiting:  zeros[float64](sched.WaitingOn()), blocked: map[string]float64{}, starved: map[string]float64{},
		circuits: map[transition]int64{}, decided: noDecisions(), tallies: map[string]*Tally{},
	}
}

// noDecisions returns a counter for each way and reason of a decision.
func noDecisions() map[decision]int64 {
	all := map[decision]int64{}
	for _, to := range []int{0, 1, 2} {
		d := weir.Decision{From: 1, To: to}
		for _, reason := range scale.Reasons() {
			all[decision{d.Direction(), string(reason)}] = 0
		}
	}
	return all
}

// zeros returns counters that are 0, by label.
func zeros[N int64 | float64](labels []string) map[string]N {
	all := make(map[string]N, len(labels))
	for _, l := range labels {
		all[l] = 0
	}
	return all
}

// KnowResource has the counters of a resource begin at 0.
func (c *Recorder) KnowResource(name string) {
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
func (c *Recorder) KnowActions(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		if c.actions[name] == nil {
			c.actions[name] = &actionCounts{}
		}
	}
}

// Accepted counts the items of a bulk action that was accepted.
func (c *Recorder) Accepted(b *partition.Created, drafted bool) {
	source := "submit"
	switch {
	case b.RetryOf != "":
		source = "retry"
	case drafted:
		source = "draft"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	tenant := c.tenants.of(b.Tenant, b.Items)
	for _, s := range sourceNames { // the others begin at 0
		c.ingested[ingestion{tenant, s}] += 0
	}
	c.ingested[ingestion{tenant, source}] += b.Items
}

// Add takes over what a loop has counted.
func (c *Recorder) Add(t *Counter) {
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
	for name, n := range t.tallies {
		if c.tallies[name] == nil {
			c.tallies[name] = &Tally{}
		}
		c.tallies[name].add(n)
		*n = Tally{}
	}
	for i := range t.starts {
		c.starts[i].all += t.starts[i].all
		c.starts[i].good += t.starts[i].good
		t.starts[i] = starts{}
	}
	for i := range t.slowdown {
		if t.slowdown[i].sum > 0 {
			c.slowdown[i].merge(&t.slowdown[i])
			t.slowdown[i] = spread{}
		}
	}
	t.slots = c.slots * max(c.nodes, 1)
	clear(t.finished)
	clear(t.outcomes)
	clear(t.waiting)
}

// Committed counts a commit and the time that the store took for it.
func (c *Recorder) Committed(took time.Duration) {
	c.mu.Lock()
	c.commits.add(took.Seconds(), 1)
	c.mu.Unlock()
}

// Decided counts a decision that this node made as the leader.
func (c *Recorder) Decided(d *weir.Decision) {
	if d.Shadow {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.decided[decision{d.Direction(), d.Reason}]++
}

// starving is the part of its share below which a tenant that has work starves.
const starving = 0.5

// Look takes what this node observed of its lanes and how many nodes there are, and counts what shows since the look
// before.
func (c *Recorder) Look(now *weir.Node, nodes int) {
	before := c.Seen.Swap(now)
	shares := Shares(now.Lanes, c.weight)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = nodes
	c.relabel(now.At)
	if before == nil {
		return
	}
	span := min(now.At.Sub(before.At), 10*time.Second).Seconds()
	for i := range now.Lanes {
		if l := &now.Lanes[i]; l.Eligible > 0 && held(l.Cause) {
			c.blocked[l.ID.Resource] += span
		}
	}
	for i := range shares {
		s := &shares[i]
		tenant := c.tenants.of(s.Tenant, 0)
		c.starved[tenant] += 0
		if s.Ready > 0 && s.Actual < starving*s.Entitled {
			c.starved[tenant] += span
		}
	}
	was := map[string]string{}
	for i := range before.Resources {
		was[before.Resources[i].Name] = before.Resources[i].Circuit
	}
	for i := range now.Resources {
		u := &now.Resources[i]
		if cmp.Or(was[u.Name], string(flow.Closed)) != u.Circuit {
			c.circuits[transition{u.Name, u.Circuit}]++
		}
	}
}

// held reports whether it is the resource that a lane waits for.
func held(cause string) bool {
	c := sched.CauseNamed(cause)
	return c == sched.CauseRate || c == sched.CauseConcurrency || c.Down()
}
