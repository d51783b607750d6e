package quota

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/store"
)

// The leader's constants.
const (
	// poolShare is the part of a rate that no node holds while there are several. Work that has
	// just started, or is too little for a quota, draws from it. With half of it, sparse work
	// beside a flood runs dry and takes quotas that it does not use (87 % of the rate used
	// instead of 97 %); with three times as much, more permits come too late to be used, and
	// nothing is gained.
	poolShare = 0.10
	// busyShare is that part while every node holds a quota: then permits only even out what
	// does not divide, and each that comes too late is lost (with 0.05, 99.2 % of the rate is
	// used instead of 99.6 %).
	busyShare = 0.02
	// smallPer is the number of chunks that a window must have per node for quotas to make
	// sense.
	smallPer = 2
	// sparseBelow is the number of chunks in a window below which a node gets no quota, and
	// sparseRoom the room left for what nodes without quotas draw, as a multiple of it.
	sparseBelow = 4
	sparseRoom  = 2
	// rotateEvery is how often the chunks that do not divide evenly rotate, and rotateSlots how
	// often they do if a node has none at all of a concurrency.
	rotateEvery = 20 * time.Second
	rotateSlots = 2 * time.Second
	// smoothFor is the time over which drawn permits are averaged.
	smoothFor = 5 * time.Second
	// deadband is how far off a target may be, beside one chunk.
	deadband = 0.05
)

// Planner computes the targets of one limit: what each node should get.
//
// Nodes share by weight what they want (weighted max-min). Permits that a node draws count as a
// part of its share. A node that got too little by rounding, or by a race for permits, gets
// more later. A Planner is the memory of one leader.
type Planner struct {
	limit   store.Limit
	chunk   int64
	nodes   map[string]*standing
	last    int64 // the time of the last plan
	rotated int64
	begun   bool
}

// standing is the leader's view of one node.
type standing struct {
	name    string
	said    store.Holding
	here    bool    // in the last list
	silent  bool    // no report for some time
	target  int64   // in force
	share   float64 // computed, before it is rounded
	drawn   float64 // smoothed
	deficit float64 // the part of its shares that it did not get, in units x windows
}

// NewPlanner returns a planner for a limit. chunk is the usual size of a task.
func NewPlanner(l store.Limit, chunk int64) *Planner {
	if l.Window == 0 {
		chunk = 1
	}
	return &Planner{limit: l, chunk: max(chunk, 1), nodes: map[string]*standing{}}
}

// Plan returns the targets for the nodes' reports, and whether they differ from those before.
// members are the nodes that are alive. Silent nodes may be dead: each keeps what it holds, and
// the others share the rest.
func (p *Planner) Plan(now int64, members []string, hs []store.Holding,
	silent map[string]bool) (targets map[string]int64, changed bool) {
	list, drawn := p.meet(now, hs, silent)
	kept, changed := p.keep()
	count := max(len(members), len(hs), 1)
	budget := max(p.budget(count, len(list) == count)-kept-int64(sparseRoom*drawn), 0) / p.chunk * p.chunk
	spread(list, float64(budget), p.least(list))
	changed = p.round(now, list, budget) || changed
	changed = p.expect(members, count) || changed || !p.begun && len(hs) > 0
	p.begun = p.begun || changed
	targets = make(map[string]int64, len(p.nodes))
	for name, n := range p.nodes { // into a map again: the order does not reach it
		if n.target > 0 {
			targets[name] = n.target
		}
	}
	return targets, changed
}

// meet records the nodes' reports. It returns those that should have quotas, and what the
// others draw, for which room is left beside the pool.
func (p *Planner) meet(now int64, hs []store.Holding, silent map[string]bool) (list []*standing, drawn float64) {
	for _, n := range p.nodes { // the order does not reach anything
		n.here = false
	}
	since := float64(now - p.last)
	if p.last == 0 {
		since = 0
	}
	p.last = now
	for _, h := range hs {
		n := p.nodes[h.Node]
		if n == nil {
			n = &standing{name: h.Node, drawn: float64(h.Drawn)}
			p.nodes[h.Node] = n
		}
		n.drawn += (float64(h.Drawn) - n.drawn) * min(since/float64(smoothFor), 1)
		n.said, n.here, n.silent = h, true, silent[h.Node]
		switch {
		case n.silent:
			n.share, n.deficit = 0, 0
		case p.worth(h):
			list = append(list, n)
		default:
			n.share, n.deficit = 0, 0
			drawn += n.drawn
		}
	}
	slices.SortFunc(list, func(a, b *standing) int { return cmp.Compare(a.name, b.name) })
	p.account(list, since)
	return list, drawn
}

// keep lets silent nodes keep what they hold, and returns the sum. The table counts it until it
// has ended, so a higher target would help neither them nor the others.
func (p *Planner) keep() (sum int64, changed bool) {
	for _, n := range p.nodes { // the order does not reach anything
		if n.here && n.silent {
			held := max(n.said.Held, n.said.Used)
			changed = changed || n.target != held
			n.target = held
			sum += held
		}
	}
	return sum, changed
}

// worth reports whether a node should have a quota. A node that wants little draws permits:
// most of a whole chunk held for it would be wasted.
func (p *Planner) worth(h store.Holding) bool {
	return h.Want > 0 && (p.limit.Window == 0 || h.Want >= min(sparseBelow*p.chunk, p.limit.Units))
}

// account adds up how much less than their shares the nodes that are held back got of what all
// of them got.
func (p *Planner) account(list []*standing, since float64) {
	got, weight := 0.0, 0.0
	for _, n := range list {
		if n.held(p.limit) {
			got += n.got()
			weight += n.weight()
		}
	}
	most := float64(sparseBelow * p.chunk)
	for _, n := range list {
		if !n.held(p.limit) {
			n.deficit = 0
			continue
		}
		should := got * n.weight() / weight
		n.deficit += (should - n.got()) * min(since/float64(p.period()), 1)
		n.deficit = min(max(n.deficit, -most), most)
	}
}

func (p *Planner) period() time.Duration {
	if p.limit.Window == 0 {
		return rotateSlots
	}
	return rotateEvery
}

// held reports whether the node could use the whole limit.
func (n *standing) held(l store.Limit) bool { return n.said.Want >= l.Units }

func (n *standing) weight() float64 { return float64(max(n.said.Weight, 1)) }

func (n *standing) got() float64 { return float64(n.said.Used + n.said.Drawn) }

// budget returns what may be given to nodes, in whole chunks.
func (p *Planner) budget(members int, allHold bool) int64 {
	units := p.limit.Units
	switch {
	case p.limit.Window == 0 || members == 1:
		return units
	case units/p.chunk < smallPer*int64(members):
		return 0
	}
	pool := poolShare * float64(units)
	if allHold {
		pool = max(busyShare*float64(units), float64(p.chunk))
	}
	return int64(float64(units)-pool) / p.chunk * p.chunk
}

// least returns the least share of a node that wants something: one slot of a concurrency that
// has enough for all.
func (p *Planner) least(list []*standing) float64 {
	if p.limit.Window == 0 && int64(len(list)) <= p.limit.Units {
		return 1
	}
	return 0
}

// spread shares the budget by weight: every node gets the same per weight,
// permits included, but no more than it wants and no less than least.
func spread(list []*standing, budget, least float64) {
	high := 0.0
	for _, n := range list {
		high = max(high, (float64(n.said.Want)+n.drawn+math.Abs(n.deficit))/n.weight())
	}
	low := -high // so low that no node gets anything
	if fill(list, high, least) > budget {
		for range 60 {
			if mid := (low + high) / 2; fill(list, mid, least) > budget {
				high = mid
			} else {
				low = mid
			}
		}
		fill(list, low, least)
	}
}

// fill sets every node's share at a level, and returns the sum.
func fill(list []*standing, level, least float64) (sum float64) {
	for _, n := range list {
		most := max(float64(n.said.Want)-n.drawn, least)
		n.share = min(max(level*n.weight()-n.drawn+n.deficit, least), most)
		sum += n.share
	}
	return sum
}

// round turns shares into targets of whole chunks, if the present targets are off.
func (p *Planner) round(now int64, list []*standing, budget int64) (changed bool) {
	turn := p.turn(now, list)
	if !turn && !p.off(list, budget) {
		return false
	}
	rest := budget / p.chunk
	for _, n := range list {
		rest -= int64(n.share) / p.chunk
	}
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *standing) int {
		return cmp.Compare(p.claim(b, turn), p.claim(a, turn))
	})
	was := p.inForce()
	for _, n := range p.nodes { // the order does not reach anything
		if n.here && !n.silent {
			n.target = 0
		}
	}
	for _, n := range order {
		chunks := int64(n.share) / p.chunk
		if over := n.share - float64(chunks*p.chunk); rest > 0 && over > 0 {
			chunks++
			rest--
		}
		n.target = chunks * p.chunk
	}
	return !maps.Equal(was, p.inForce())
}

func (p *Planner) inForce() map[string]int64 {
	m := make(map[string]int64, len(p.nodes))
	for name, n := range p.nodes { // into a map: the order does not reach it
		m[name] = n.target
	}
	return m
}

// claim orders the nodes for the chunks that do not divide evenly: by the part of their shares
// beyond whole chunks, and, until the next rotation, those that have one first.
func (p *Planner) claim(n *standing, turn bool) float64 {
	chunks := int64(n.share) / p.chunk
	c := n.share - float64(chunks*p.chunk)
	if !turn && n.target == (chunks+1)*p.chunk {
		c += float64(p.chunk)
	}
	return c
}

// turn reports whether the uneven chunks should rotate now.
func (p *Planner) turn(now int64, list []*standing) bool {
	every := int64(rotateEvery)
	if p.limit.Window == 0 && slices.ContainsFunc(list, func(n *standing) bool { return n.target == 0 }) {
		every = int64(rotateSlots)
	}
	if now-p.rotated < every {
		return false
	}
	p.rotated = now
	return true
}

// off reports whether a target, or the sum of all, is too far from what it should be.
func (p *Planner) off(list []*standing, budget int64) bool {
	var targets int64
	for _, n := range p.nodes { // the order does not reach the answer
		if !n.here || n.silent {
			continue
		}
		targets += n.target
		if by := math.Abs(n.share - float64(n.target)); by >= float64(p.chunk) && by >= deadband*n.share {
			return true
		}
	}
	shares := 0.0
	for _, n := range list {
		shares += n.share
	}
	return targets > budget || float64(targets+p.chunk) <= math.Round(shares)
}

// expect sets the targets of nodes that use nothing, so that they need not wait for the leader
// when they start. For a rate, permits serve them until then.
func (p *Planner) expect(members []string, count int) (changed bool) {
	for _, name := range members {
		if p.nodes[name] == nil {
			p.nodes[name] = &standing{name: name}
		}
	}
	for name, n := range p.nodes { // the order does not reach anything
		if n.here {
			continue
		}
		was := n.target
		*n = standing{name: name}
		switch {
		case !slices.Contains(members, name):
			delete(p.nodes, name)
		case p.limit.Window == 0:
			n.target = max(p.limit.Units/int64(count), 1)
		}
		changed = changed || n.target != was
	}
	return changed
}
