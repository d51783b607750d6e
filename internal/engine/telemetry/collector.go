package telemetry

import (
	"errors"
	"fmt"
	"iter"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/flow"
)

// collector tells Prometheus what this node knows: what it observed of its lanes
// and resources within the last second or two, and what it decided if it led. It
// only reads what is kept anyway, when it is asked, so tasks pay nothing for it.
//
// Labels are partitions, resources and the closed sets of states, directions and
// reasons: never an item, a bulk action or a tenant.
type collector struct {
	of    *Recorder
	fleet func() (nodes int, leads bool)

	laneTasks, laneOldest, laneWorkers, lanePWQD, laneWait                  *prometheus.Desc
	laneArrived, laneEnded, laneFailed, laneRefused, laneBusy               *prometheus.Desc
	resourceRate, resourceUse, resourceConcurrency, circuitOpen, scaleSteps *prometheus.Desc
	nodes, leader, nodeSlots, nodeCPU, nodeMemory                           *prometheus.Desc
	laneNeeded, laneUseful, nodesDesired, fairness                          *prometheus.Desc

	all descs
}

// descs lists the metrics of a collector.
type descs []*prometheus.Desc

// add returns the description of a metric.
func (l *descs) add(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("weir_"+name, help, labels, nil)
	*l = append(*l, d)
	return d
}

func newCollector(r *Recorder, fleet func() (int, bool)) *collector {
	var all descs
	desc := all.add
	lane := func(name, help string, labels ...string) *prometheus.Desc {
		return desc("lane_"+name, help, append([]string{"partition", "lane"}, labels...)...)
	}
	c := &collector{
		of:          r,
		fleet:       fleet,
		laneTasks:   lane("tasks", "Tasks of the lane, by state: ready, waiting for their time, or in flight.", "state"),
		laneOldest:  lane("oldest_ready_seconds", "How long the longest-waiting tenant has waited."),
		laneWorkers: lane("workers", "Workers of the lane: the bound on its tasks in flight."),
		lanePWQD:    lane("pwqd", "Per-worker queue depth: tasks ready for each worker."),
		laneWait:    lane("wait_seconds", "Waits for a worker during the last second, by percentile.", "percentile"),
		laneArrived: lane("tasks_arrived_total", "Tasks that became ready since this node owns the lane."),
		laneEnded:   lane("tasks_ended_total", "Tasks that ended since this node owns the lane."),
		laneFailed:  lane("tasks_failed_total", "Tasks that ended in a failure of the resource since this node owns the lane."),
		laneRefused: lane("tasks_refused_total", "Tasks that the resource refused as too many since this node owns the lane."),
		laneBusy:    lane("busy_seconds_total", "Time for which ended tasks held a worker since this node owns the lane."),

		resourceRate: desc("resource_rate_items_per_second",
			"Rate of the resource: the one set for all nodes, or the one that flow control set on this node.", "resource", "kind"),
		resourceUse: desc("resource_use_ratio", "Share of the rate allowed to this node that it used.", "resource"),
		resourceConcurrency: desc("resource_concurrency",
			"Concurrent tasks: the limit set for all nodes, or the limit that flow control set on this node.", "resource", "kind"),
		circuitOpen: desc("circuit_open",
			"1 while this node starts no call on the resource: calls fail, or an operator opened the circuit.", "resource"),
		scaleSteps: desc("scale_decisions_total",
			"Decisions on workers that this node stored as the leader, except those of a shadow policy.", "direction", "reason"),

		nodes:      desc("nodes", "Nodes of the fleet that this node knows of."),
		leader:     desc("leader", "1 while this node decides on workers and quotas for all nodes."),
		nodeSlots:  desc("node_slots", "Tasks that may run at once on this node."),
		nodeCPU:    desc("node_cpu_ratio", "Share of the node's CPU in use."),
		nodeMemory: desc("node_memory_ratio", "Share of the node's memory in use."),

		laneNeeded:   lane("workers_needed", "Workers that the load would keep busy, reported by the leader."),
		laneUseful:   lane("workers_useful", "Workers that the allowed rate and concurrency would keep busy, reported by the leader."),
		nodesDesired: desc("nodes_desired", "Nodes whose slots fit the workers needed, reported by the leader."),
		fairness: desc("resource_fairness_ratio", "Jain's index of what the tenants with work ready get of their shares of the "+
			"resource, reported by the leader: 1 is fair.", "resource"),
	}
	c.all = all
	return c
}

// Export registers the metrics until the function that it returns is called. fleet tells how many nodes this one knows
// of, and whether it leads; held yields what its partitions held at their last look; regressions counts how often the
// store was found to have gone back.
func (c *Recorder) Export(reg prometheus.Registerer, fleet func() (nodes int, leads bool), held iter.Seq[*Census],
	regressions func() int64) (end func(), err error) {
	if reg == nil {
		return func() {}, nil
	}
	var registered []prometheus.Collector
	end = func() {
		for _, x := range registered {
			reg.Unregister(x)
		}
	}
	for _, x := range []prometheus.Collector{newCollector(c, fleet), newCountsCollector(c, held, regressions)} {
		var taken prometheus.AlreadyRegisteredError
		switch err := reg.Register(x); {
		case errors.As(err, &taken):
			end()
			return nil, errors.New("options.Metrics: another engine exports to it; give each its own with prometheus.WrapRegistererWith")
		case err != nil:
			end()
			return nil, fmt.Errorf("options.Metrics: %w", err)
		}
		registered = append(registered, x)
	}
	return end, nil
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.all {
		out <- d
	}
}

// sink takes values one by one.
type sink chan<- prometheus.Metric

func (s sink) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (s sink) counter(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	to := sink(out)
	nodes, leads := c.fleet()
	to.gauge(c.nodes, float64(nodes))
	to.gauge(c.leader, oneIf(leads))
	to.gauge(c.nodeSlots, float64(c.of.slots))
	c.decisions(to)
	if p := c.of.Plan.Load(); p != nil {
		c.plan(to, p)
	}
	if f := c.of.Fair.Load(); f != nil {
		for resource, index := range *f {
			to.gauge(c.fairness, index, resource)
		}
	}
	n := c.of.Seen.Load()
	if n == nil {
		return // it has not looked yet
	}
	to.gauge(c.nodeCPU, n.CPU)
	to.gauge(c.nodeMemory, n.Memory)
	for i := range n.Lanes {
		c.lane(to, &n.Lanes[i])
	}
	for i := range n.Resources {
		c.resource(to, &n.Resources[i])
	}
}

func (c *collector) plan(to sink, p *weir.Plan) {
	to.gauge(c.nodesDesired, float64(p.NodesDesired))
	for i := range p.Lanes {
		l := &p.Lanes[i]
		part := fmt.Sprintf("p%02d", l.Lane.Partition)
		to.gauge(c.laneNeeded, l.Need, part, l.Lane.Resource)
		if l.Useful > 0 {
			to.gauge(c.laneUseful, l.Useful, part, l.Lane.Resource)
		}
	}
}

func (c *collector) decisions(to sink) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	for kind, n := range c.of.decided {
		to.counter(c.scaleSteps, float64(n), kind.direction, kind.reason)
	}
}

func (c *collector) lane(to sink, l *weir.Lane) {
	p, r := fmt.Sprintf("p%02d", l.ID.Partition), l.ID.Resource
	to.gauge(c.laneTasks, l.Tasks(l.Ready), p, r, "ready")
	to.gauge(c.laneTasks, l.Tasks(l.Waiting), p, r, "waiting")
	to.gauge(c.laneTasks, float64(l.InFlight), p, r, "in_flight")
	to.gauge(c.laneOldest, l.Oldest.Seconds(), p, r)
	if l.Workers >= 0 { // else only the slots bound it
		to.gauge(c.laneWorkers, float64(l.Workers), p, r)
		to.gauge(c.lanePWQD, l.Depth(), p, r)
	}
	to.gauge(c.laneWait, l.Wait50.Seconds(), p, r, "50")
	to.gauge(c.laneWait, l.Wait99.Seconds(), p, r, "99")
	to.counter(c.laneArrived, l.Arrived, p, r)
	to.counter(c.laneEnded, float64(l.Ended), p, r)
	to.counter(c.laneFailed, float64(l.Failed), p, r)
	to.counter(c.laneRefused, float64(l.Refused), p, r)
	to.counter(c.laneBusy, l.Took.Seconds(), p, r)
}

// What is set by people, and what was found out.
const (
	kindSet      = "set"
	kindAdaptive = "adaptive"
)

func (c *collector) resource(to sink, u *weir.ResourceUse) {
	if u.Rate > 0 {
		to.gauge(c.resourceRate, u.Rate, u.Name, kindSet)
	}
	if u.Limited {
		to.gauge(c.resourceRate, u.Allowed, u.Name, kindAdaptive)
	}
	if u.Allowed > 0 {
		to.gauge(c.resourceUse, u.Use, u.Name)
	}
	if u.Concurrency > 0 {
		to.gauge(c.resourceConcurrency, float64(u.Concurrency), u.Name, kindSet)
	}
	if u.Bearable > 0 {
		to.gauge(c.resourceConcurrency, float64(u.Bearable), u.Name, kindAdaptive)
	}
	to.gauge(c.circuitOpen, oneIf(u.Circuit == string(flow.Open)), u.Name)
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
