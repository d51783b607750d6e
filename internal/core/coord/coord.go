package coord

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/scale"
)

// Coordinator holds the leader's memory of all lanes between cycles.
type Coordinator struct {
	lanes     map[weir.LaneID]*track
	histories map[string]scale.History // by resource

	timetables map[string]scale.Timetable // by their text
	held       map[nodeResource]held
	decided    map[weir.LaneID]weir.LanePlan // the newest decisions
	floors     map[string]int                // workers that resources keep ready now
	partitions int                           // that new work is spread over
}

// track holds what the leader remembers of one lane.
type track struct {
	last    weir.Lane // as last reported
	node    string
	at      int64 // when its node looked at it
	seen    int64 // the cycle in which it was last reported
	perTask scale.PerTask
	acting  mind
	shadow  mind
	told    int   // workers in the last decision
	toldAt  int64 // 0: never
	workers int   // the lane's workers, as far as known
	need    float64
	useful  float64
	most    int // upper bound on workers set by operators; 0: none
	reason  scale.Reason
}

// mind is the memory that one policy keeps of a lane.
type mind struct {
	policy  string
	state   scale.State
	workers int          // shadow only: the number of workers it would have set; 0: nothing yet
	stored  scale.Reason // of the last decision that was worth storing
}

// New returns the Coordinator of a leader that has seen nothing yet.
func New() *Coordinator {
	return &Coordinator{
		lanes: map[weir.LaneID]*track{}, histories: map[string]scale.History{}, timetables: map[string]scale.Timetable{},
		held: map[nodeResource]held{}, decided: map[weir.LaneID]weir.LanePlan{},
	}
}

// Histories returns each resource's need by hour of the week. The caller stores it.
func (c *Coordinator) Histories() map[string]scale.History { return c.histories }

// SetHistory restores a history that was stored.
func (c *Coordinator) SetHistory(resource string, h scale.History) { c.histories[resource] = h }

// Fleet is the input of a cycle.
type Fleet struct {
	Nodes []weir.Node
	// Limits holds what each resource lets through, over all nodes. A missing resource has no
	// limit.
	Limits map[string]weir.Resource
	// Partitions is the number of partitions that new work is spread over.
	Partitions int
}

// forgetAfter bounds how long a lane is remembered that no node reports.
const forgetAfter = int64(5 * time.Minute)

// Cycle decides for every lane that its node has looked at since the last cycle. The leader
// calls it once a second. It returns the decisions that change something, and those that hold a
// lane back for another reason than the stored one.
func (c *Coordinator) Cycle(now int64, f Fleet, s *weir.Scaling) []weir.Decision {
	c.partitions = f.Partitions
	c.reserve(now, f, s)
	news := c.news(now, f.Nodes)
	usable, bounds := c.usable(f, news), bounds(f, news)
	needs, floors := map[string]float64{}, map[string]int{}
	for r, h := range c.histories { // each by itself: order does not reach the output
		floors[r] = share(h.Floor(now), f.Partitions)
	}
	var out []weir.Decision
	for i := range news {
		n := &news[i]
		sig := n.signals(usable[n.lane.ID])
		sig.Floor, sig.Bound = floors[n.lane.ID.Resource], bounds[n.lane.ID]
		cfg := c.config(s, n.lane.ID, n.node.Slots, max(f.Partitions, 1))
		out = c.decide(now, out, n, sig, s, cfg)
		needs[n.lane.ID.Resource] += n.track.need
	}
	for i := range out {
		c.Remember(&out[i])
	}
	for r, need := range needs { // order does not reach the output
		h := c.histories[r]
		c.histories[r] = h.Observe(now, need)
	}
	maps.DeleteFunc(c.lanes, func(_ weir.LaneID, t *track) bool { return now-t.seen > forgetAfter })
	return out
}

// share divides a number of workers among lanes, rounded up.
func share(workers, lanes int) int {
	lanes = max(lanes, 1)
	return (workers + lanes - 1) / lanes
}

// news is a lane that was looked at since the last cycle.
type news struct {
	node  *weir.Node
	lane  *weir.Lane
	track *track
	span  float64   // seconds between its last two reports
	delta weir.Lane // growth of its counters
}

// news returns the lanes with a new report. If two nodes report the same lane, the later report
// counts.
func (c *Coordinator) news(now int64, nodes []weir.Node) (out []news) {
	for i := range nodes {
		n := &nodes[i]
		for j := range n.Lanes {
			l := &n.Lanes[j]
			t := c.lanes[l.ID]
			if t == nil {
				t = &track{}
				c.lanes[l.ID] = t
			}
			t.seen = now
			at := n.At.UnixNano()
			if at <= t.at {
				continue
			}
			x := news{node: n, lane: l, track: t}
			if t.node == n.Name {
				x.span = float64(at-t.at) / 1e9
				x.delta = grown(l, &t.last)
				t.perTask = t.perTask.See(x.delta.Sent, x.delta.Started, l.Chunk)
			}
			t.node, t.at, t.last = n.Name, at, *l
			if x.span > 0 {
				out = append(out, x)
			}
		}
	}
	slices.SortFunc(out, func(a, b news) int {
		return cmp.Or(cmp.Compare(a.lane.ID.Resource, b.lane.ID.Resource), a.lane.ID.Partition-b.lane.ID.Partition)
	})
	return out
}

// grown returns the growth of a lane's counters.
func grown(now, before *weir.Lane) weir.Lane {
	if now.Ended < before.Ended || now.Started < before.Started { // its owner started anew
		before = &weir.Lane{}
	}
	return weir.Lane{
		Arrived: now.Arrived - before.Arrived, Started: now.Started - before.Started, Sent: now.Sent - before.Sent,
		Ended:  now.Ended - before.Ended,
		Failed: now.Failed - before.Failed, Refused: now.Refused - before.Refused, Took: now.Took - before.Took,
	}
}

// drainFor is the time over which a backlog counts as demand when a rate is divided, in
// seconds.
const drainFor = 30

// usable returns each lane's share of its resource's rate, in items per second.
func (c *Coordinator) usable(f Fleet, all []news) map[weir.LaneID]float64 {
	byResource, rates := map[string][]demand{}, map[string]float64{}
	for i := range all {
		l := all[i].lane
		if _, known := rates[l.ID.Resource]; !known {
			rates[l.ID.Resource] = allowed(l.ID.Resource, f)
		}
		if rates[l.ID.Resource] > 0 {
			byResource[l.ID.Resource] = append(byResource[l.ID.Resource], demand{
				lane: i, weight: float64(max(l.Weight, 1)),
				wants: all[i].delta.Arrived/all[i].span*float64(all[i].track.perTask) + float64(l.Eligible)/drainFor,
			})
		}
	}
	out := map[weir.LaneID]float64{}
	for r, ds := range byResource { // each by itself: order does not reach the output
		divide(rates[r], ds)
		for _, d := range ds {
			out[all[d.lane].lane.ID] = d.gets
		}
	}
	return out
}

// signals returns the policy's inputs. usable is the lane's share of the rate in items per
// second.
func (n *news) signals(usable float64) scale.Signals {
	l, d := n.lane, &n.delta
	load := scale.Load{ // refused tasks are left to flow control, which reports strain
		Resource: l.ID.Resource, Arrivals: d.Arrived / n.span, Backlog: n.waiting(),
		Usable: n.track.perTask.Tasks(usable), Closed: l.Closed, Samples: int(d.Ended - d.Refused), Failed: int(d.Failed - d.Refused),
	}
	if d.Ended > 0 {
		load.Service = max(d.Took/time.Duration(d.Ended), time.Microsecond) // the law divides by it
	}
	return scale.Signals{
		Workers: l.Workers, Loads: []scale.Load{load}, SlotWait: l.Wait99,
		Busy: min(l.Busy/float64(max(l.Workers, 1)), 1), CPU: n.node.CPU, Memory: n.node.Memory, Strained: l.Strained,
	}
}

// waiting returns the number of waiting tasks.
func (n *news) waiting() int { return int(math.Ceil(n.track.perTask.Tasks(float64(n.lane.Eligible)))) }

// obeyFor bounds how long a lane may take to apply a decision. After it the decision is sent
// again.
const obeyFor = int64(3 * time.Second)

// decide asks the policies for one lane.
func (c *Coordinator) decide(now int64, out []weir.Decision, n *news, sig scale.Signals, s *weir.Scaling,
	cfg scale.Config) []weir.Decision {
	t := n.track
	t.workers = n.lane.Workers
	switch {
	case now-t.toldAt < obeyFor && t.toldAt != 0:
		t.workers = t.told
	case t.workers < 0: // no bound yet
		t.workers = cfg.Max
	}
	sig.Workers = t.workers
	if p, _ := policyOf(s.Policy); p != nil {
		d := t.acting.ask(now, p, s.Policy, sig, cfg)
		t.need, t.useful, t.most, t.reason = d.Need, d.Useful, s.Max, d.Reason
		if d.Workers != sig.Workers || t.acting.worthStoring(d.Reason) {
			out = append(out, decisionOf(now, n, &sig, d, s.Policy, false))
		}
		if d.Workers != sig.Workers {
			t.told, t.toldAt = d.Workers, now
		}
	}
	if s.Shadow == "" {
		t.shadow = mind{}
		return out
	}
	p, _ := policyOf(s.Shadow)
	if p == nil {
		return out
	}
	sig.Workers = cmp.Or(t.shadow.workers, t.workers)
	d := t.shadow.ask(now, p, s.Shadow, sig, cfg)
	if d.Workers != sig.Workers || t.shadow.worthStoring(d.Reason) {
		out = append(out, decisionOf(now, n, &sig, d, s.Shadow, true))
	}
	t.shadow.workers = d.Workers
	return out
}

// ask returns the policy's decision. A change of policy starts with an empty memory.
func (m *mind) ask(now int64, p scale.Policy, name string, sig scale.Signals, cfg scale.Config) scale.Decision {
	if m.policy != name {
		*m = mind{policy: name, workers: m.workers}
	}
	d, st := p(now, sig, m.state, cfg)
	m.state = st
	return d
}

// passing lists the reasons of decisions that only wait for the next cycle.
var passing = []scale.Reason{scale.Steady, scale.Confirming, scale.Cooling, scale.Watching}

// worthStoring reports whether to store a decision that changes nothing: it must hold the lane
// back, for another reason than the one stored last. Decisions that only wait for the next
// cycle are not stored.
func (m *mind) worthStoring(r scale.Reason) bool {
	if m.stored == r || slices.Contains(passing, r) {
		return false
	}
	m.stored = r
	return true
}
