package telemetry

import (
	"iter"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
)

// countsCollector tells Prometheus what this node has counted since it was
// opened, and what its partitions hold. What loops counted is handed over once a
// second: it may be a second old.
//
// Labels are actions, resources, the closed sets of states, results and reasons,
// and tenants: fifty with the most to do by name, the rest as "other".
type countsCollector struct {
	of      *Recorder
	parts   iter.Seq[*Census]
	setBack func() int64

	ingested, finished, attempts, itemDuration, itemWait, atRisk *prometheus.Desc
	taskDuration, taskItems, tasksInFlight                       *prometheus.Desc
	bulks, stalled, ended, waiting                               *prometheus.Desc
	resourceWait, circuits, shares, starved                      *prometheus.Desc
	target, starts, inTime, slowdown                             *prometheus.Desc
	commits, regressions, leasesLost, late, violations           *prometheus.Desc

	all descs
}

func newCountsCollector(r *Recorder, held iter.Seq[*Census], regressions func() int64) *countsCollector {
	var all descs
	desc := all.add
	c := &countsCollector{
		of:           r,
		parts:        held,
		setBack:      regressions,
		ingested:     desc("items_ingested_total", "Items accepted by this node, by tenant and source.", "tenant", "source"),
		finished:     desc("items_finished_total", "Items that ended, by the action at which they ended.", "action", "tenant", "state"),
		attempts:     desc("item_attempts_total", "Attempts of items, by result.", "action", "result"),
		itemDuration: desc("item_duration_seconds", "Duration of the calls of items.", "action"),
		itemWait:     desc("item_wait_seconds", "Time from the start of a bulk action to the first call of an item.", "action"),
		atRisk: desc("items_at_risk", "Items in flight, or with results that are not durable yet: they are run again "+
			"if this node dies."),
		taskDuration:  desc("task_duration_seconds", "Duration of tasks.", "action"),
		taskItems:     desc("task_items", "Items per task.", "action"),
		tasksInFlight: desc("tasks_in_flight", "Tasks in flight.", "action"),
		bulks:         desc("bulk_actions", "Bulk actions of this node's partitions that have not ended.", "state"),
		stalled: desc("bulk_actions_stalled",
			"Running bulk actions of which no item advanced for a minute: calls refused, circuit open or nothing in flight."),
		ended: desc("bulk_actions_finished_total", "Bulk actions that ended.", "outcome"),
		waiting: desc("waiting_seconds_total",
			"Time that bulk actions waited, by main reason.", "reason"),
		resourceWait: desc("resource_wait_seconds_total",
			"Time for which lanes waited for the resource: its rate, its concurrency or its circuit.", "resource"),
		circuits: desc("circuit_transitions_total", "Changes of this node's circuits.", "resource", "to"),
		shares: desc("tenant_share_ratio",
			"Share of the resource on this node that a tenant is entitled to, and that it gets.", "resource", "tenant", "kind"),
		starved: desc("tenant_starved_seconds_total", "Time for which a tenant with work got less than half of its share.", "tenant"),
		target:  desc("slo_target_seconds", "Time within which the first call of a bulk action should begin, by tier.", "tier"),
		starts: desc("slo_bulk_actions_total",
			"Bulk actions whose first call began or whose target passed, by tier.", "tier"),
		inTime: desc("slo_bulk_actions_good_total",
			"Bulk actions whose first call began within the target of their tier.", "tier"),
		slowdown: desc("bulk_action_slowdown_ratio", "How many times longer completed bulk actions took than they would have taken "+
			"with the system to themselves, by size in items.", "size"),
		commits:     desc("store_commit_duration_seconds", "Duration of commits in the store."),
		regressions: desc("store_regressions_total", "Times that the store was found to have lost acknowledged writes."),
		leasesLost:  desc("leases_lost_total", "Partitions that this node lost to another node while it worked on them."),
		late:        desc("late_results_dropped_total", "Results of tasks that arrived after the task was abandoned."),
		violations:  desc("conservation_violations_total", "Bulk actions with counts that do not add up, which is a bug in weir."),
	}
	c.all = all
	return c
}

// Describe implements prometheus.Collector.
func (c *countsCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.all {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *countsCollector) Collect(out chan<- prometheus.Metric) {
	to := sink(out)
	c.held(to)
	if n := c.of.Seen.Load(); n != nil {
		for _, s := range c.of.shownShares(n) {
			to.gauge(c.shares, s.Entitled, s.Resource, s.Tenant, "entitled")
			to.gauge(c.shares, s.Actual, s.Resource, s.Tenant, "actual")
		}
	}
	to.counter(c.regressions, float64(c.setBack()))
	to.counter(c.leasesLost, float64(c.of.LeasesLost.Load()))
	to.counter(c.late, float64(c.of.Late.Load()))
	to.counter(c.violations, float64(c.of.Violations.Load()))
	c.counted(to)
}

// counted tells what was counted.
func (c *countsCollector) counted(to sink) {
	n := c.of
	n.mu.Lock()
	defer n.mu.Unlock()
	for k, v := range n.ingested {
		if !n.tenants.shown(k.tenant) {
			continue
		}
		to.counter(c.ingested, float64(v), k.tenant, k.source)
	}
	for k, v := range n.finished {
		if !n.tenants.shown(k.tenant) {
			continue
		}
		to.counter(c.finished, float64(v), k.action, k.tenant, k.state)
	}
	for k, v := range n.outcomes {
		to.counter(c.ended, float64(v), k)
	}
	for k, v := range n.waiting {
		to.counter(c.waiting, v, k)
	}
	for k, v := range n.blocked {
		to.counter(c.resourceWait, v, k)
	}
	for k, v := range n.circuits {
		to.counter(c.circuits, float64(v), k.resource, k.to)
	}
	for k, v := range n.starved {
		if !n.tenants.shown(k) {
			continue
		}
		to.counter(c.starved, v, k)
	}
	for tier := range n.starts {
		name := weir.Tier(tier).String()
		to.gauge(c.target, targets[tier].Seconds(), name)
		to.counter(c.starts, float64(n.starts[tier].all), name)
		to.counter(c.inTime, float64(n.starts[tier].good), name)
	}
	for i := range n.slowdown {
		to <- n.slowdown[i].metric(c.slowdown, ratioPowers, n.since, sizeClasses[i].label)
	}
	to <- n.commits.metric(c.commits, secondsPowers, n.since)
	for name, a := range n.actions {
		for i, v := range a.results {
			to.counter(c.attempts, float64(v), name, resultNames[i])
		}
		to <- a.took.metric(c.taskDuration, secondsPowers, n.since, name)
		to <- a.itemsTook.metric(c.itemDuration, secondsPowers, n.since, name)
		to <- a.wait.metric(c.itemWait, secondsPowers, n.since, name)
		to <- a.items.metric(c.taskItems, itemsPowers, n.since, name)
	}
}

// held tells what the partitions of this node hold, as of the last look.
func (c *countsCollector) held(to sink) {
	sum := Census{states: map[string]int{}, tasks: map[string]int{}}
	for _, s := range []weir.BulkState{ // also those of which there are none
		weir.BulkSealed, weir.BulkScheduled, weir.BulkRunning, weir.BulkAwaiting, weir.BulkPaused, weir.BulkStopped, weir.BulkCancelling,
	} {
		sum.states[s.String()] = 0
	}
	c.of.mu.Lock()
	for name := range c.of.actions {
		sum.tasks[name] = 0
	}
	c.of.mu.Unlock()
	for h := range c.parts {
		sum.stalled += h.stalled
		sum.atRisk += h.atRisk
		for s, n := range h.states {
			sum.states[s] += n
		}
		for a, n := range h.tasks {
			sum.tasks[a] += n
		}
	}
	to.gauge(c.atRisk, float64(sum.atRisk))
	to.gauge(c.stalled, float64(sum.stalled))
	for s, n := range sum.states {
		to.gauge(c.bulks, float64(n), s)
	}
	for a, n := range sum.tasks {
		to.gauge(c.tasksInFlight, float64(n), a)
	}
}
