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

// Coordinator is what the leader remembers of all lanes between cycles.
type Coordinator struct {
	lanes     map[weir.LaneID]*track
	histories map[string]scale.History // by resource

	timetables map[string]scale.Timetable // by their text
	held       map[place]held
	decided    map[weir.LaneID]weir.LanePlan // the newest decisions
}

// track is what is remembered of one lane.
type track struct {
	last    weir.Lane // as it was seen last
	node    string
	at      int64 // when it was looked at, by its node
	seen    int64 // in which cycle
	perTask scale.PerTask
	acting  mind
	shadow  mind
	told    int   // workers, by the last decision
	toldAt  int64 // 0: never
	workers int   // what it has, as far as is known
	need    float64
	useful  float64
	most    int // workers that it may be given by what operators set; 0: any number
	reason  scale.Reason
}

// mind is one policy's memory of a lane.
type mind struct {
	policy  string
	state   scale.State
	workers int          // shadow only: what it believes that there are; 0: nothing yet
	stored  scale.Reason // of the last decision that was worth storing
}

// New returns the memory of a leader that has seen nothing.
func New() *Coordinator {
	return &Coordinator{
		lanes: map[weir.LaneID]*track{}, histories: map[string]scale.History{}, timetables: map[string]scale.Timetable{},
		held: map[place]held{}, decided: map[weir.LaneID]weir.LanePlan{},
	}
}

// Histories is what each resource needed in the hours of the week, to be stored.
func (c *Coordinator) Histories() map[string]scale.History { return c.histories }

// SetHistory takes back what was stored.
func (c *Coordinator) SetHistory(resource string, h scale.History) { c.histories[resource] = h }

// Fleet is what a cycle looks at.
type Fleet struct {
	Nodes []weir.Node
	// Limits is what each resource lets through, over all nodes; one that is not
	// there lets everything through.
	Limits map[string]weir.Resource
	// Partitions is how many partitions new work is spread over.
	Partitions int
}

// forgetAfter is how long a lane that nobody reports is remembered.
const forgetAfter = int64(5 * time.Minute)

// Cycle decides for every lane of which there is news. Call it once a second. It
// returns the decisions that change something, and those that hold a lane back
// for another reason than the one before.
func (c *Coordinator) Cycle(now int64, f Fleet, s *weir.Scaling) []weir.Decision {
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
	span  float64   // seconds since it was looked at before
	delta weir.Lane // what the counts grew by
}

// news sorts out what is new: a node that has not looked again tells nothing. Of
// two nodes that speak of one lane the later one owns it.
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

// grown is by how much the counts of a lane grew.
func grown(now, before *weir.Lane) weir.Lane {
	if now.Ended < before.Ended || now.Started < before.Started { // its owner started anew
		before = &weir.Lane{}
	}
	return weir.Lane{
		Arrived: now.Arrived - before.Arrived, Started: now.Started - before.Started, Sent: now.Sent - before.Sent, Ended: now.Ended - before.Ended,
		Failed: now.Failed - before.Failed, Refused: now.Refused - before.Refused, Took: now.Took - before.Took,
	}
}

// drainFor is over what time a backlog counts as demand when a rate is divided.
const drainFor = 30

// usable is each lane's share of what its resource lets through, in items per second.
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

// signals is what the policy is told, with the share of the rate in items per second.
func (n *news) signals(usable float64) scale.Signals {
	l, d := n.lane, &n.delta
	load := scale.Load{ // what was refused is a matter of flow control, which tells of strain
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

// waiting is how many tasks wait.
func (n *news) waiting() int { return int(math.Ceil(n.track.perTask.Tasks(float64(n.lane.Eligible)))) }

// obeyFor is how long a lane may take to show that it has obeyed. Then it is told again.
const obeyFor = int64(3 * time.Second)

// decide asks the policies for one lane.
func (c *Coordinator) decide(now int64, out []weir.Decision, n *news, sig scale.Signals, s *weir.Scaling, cfg scale.Config) []weir.Decision {
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

// ask has the policy decide. Another policy than before starts with an empty memory.
func (m *mind) ask(now int64, p scale.Policy, name string, sig scale.Signals, cfg scale.Config) scale.Decision {
	if m.policy != name {
		*m = mind{policy: name, workers: m.workers}
	}
	d, st := p(now, sig, m.state, cfg)
	m.state = st
	return d
}

// passing are the reasons of decisions that merely wait for the next cycle.
var passing = []scale.Reason{scale.Steady, scale.Confirming, scale.Cooling, scale.Watching}

// worthStoring reports whether a decision that changes nothing should be stored:
// it holds the lane back, and for another reason than the one stored last. What
// merely waits for the next cycle is not worth it.
func (m *mind) worthStoring(r scale.Reason) bool {
	if m.stored == r || slices.Contains(passing, r) {
		return false
	}
	m.stored = r
	return true
}
