package sched

import "math"

// Work describes what the tenants of one node have to run on a resource.
type Work struct {
	// Tiers holds the weight of the tenants with something to run, by tier.
	Tiers [Tiers]int64
	// Tenants lists them, unless there are too many.
	Tenants []string
	// Needs holds what they need for their deadlines, by tenant.
	Needs map[string]Need
}

// Need is the rate that a tenant needs on a node for those of its deadlines that can be met.
type Need struct {
	Rate   int64 `json:"rate"` // thousandths of items per second
	Urgent bool  `json:"urgent,omitempty"`
}

// Add adds the need in another tier, or on another node.
func (n Need) Add(o Need) Need { return Need{n.Rate + o.Rate, n.Urgent || o.Urgent} }

// mostListed bounds the tenants listed for a resource. With more of them, a tenant on several
// nodes has its full weight on each.
const mostListed = 2048

// Elsewhere describes a tenant that has work on other nodes as well.
type Elsewhere struct {
	Nodes       int  // with work of the tenant, this one included
	Here, There Need // of its deadlines on this node, and on the others
}

// part returns the part of the tenant's weight that this node gets: the same on each node, or
// by need while deadlines are urgent on any node. Work that is not urgent keeps the part it has
// inside a node as well.
func (e Elsewhere) part() float64 {
	if e.Here.Urgent || e.There.Urgent {
		return e.byNeed()
	}
	return e.even()
}

func (e Elsewhere) even() float64 { return 1 / float64(max(e.Nodes, 1)) }

func (e Elsewhere) byNeed() float64 {
	return promised*float64(e.Here.Rate)/float64(max(e.Here.Rate+e.There.Rate, 1)) + (1-promised)*e.even()
}

// best returns how many items per second the tenant could get here, of its rate on all nodes:
// what its deadlines elsewhere leave.
func (e Elsewhere) best(rate float64) float64 {
	if e.Nodes < 2 {
		return rate
	}
	return max(rate*e.byNeed(), rate*(promised+(1-promised)*e.even())-float64(e.There.Rate)/1000)
}

// Work fills w with what r has to run. w is valid until the next call.
func (r *Resource) Work(now int64, w *Work) {
	w.Tenants, w.Needs = w.Tenants[:0], map[string]Need{}
	for f := range r.pledged { // sums: the order does not reach the output
		if a := f.agenda; a.need.Rate > 0 && now-a.planned < 2*mostLook { // a paused one is not updated
			w.Needs[f.tenant.name] = w.Needs[f.tenant.name].Add(a.need)
		}
	}
	for k := range r.tiers {
		t := &r.tiers[k]
		w.Tiers[k] = t.weight
		if r.active > mostListed {
			continue
		}
		for f := t.turn.first; f != nil; f = f.links[inTurn].next {
			w.Tenants = append(w.Tenants, f.tenant.name)
		}
	}
}

// SetBeside sets what other nodes have to run on r: the weight of their tenants by tier, and
// the tenants with work on more than one node. Tiers and tenants here get such parts that the
// shares hold over all nodes: each tenant has its weight once.
func (q *Queue) SetBeside(r *Resource, tiers [Tiers]int64, copies map[string]Elsewhere) {
	was := r.copies
	r.beside, r.copies = tiers, copies
	for name := range was { // each changes sums of its own: order does not reach the output
		if copies[name].Nodes == 0 {
			q.reweighOn(name, r)
		}
	}
	for name, e := range copies { // as above: order does not reach the output
		if was[name] != e {
			q.divide(name, r, was[name].Nodes > 0)
		}
	}
	for k := range r.beside {
		r.beside[k] = max(r.beside[k], 0)
	}
	r.guardTiers()
}

// SetNodes sets the number of nodes on which a tenant has work, for its share of the slots.
func (q *Queue) SetNodes(name string, nodes int) {
	t := q.tenants[name]
	if t == nil {
		return
	}
	was := t.slotWeight()
	t.nodes = uint8(min(nodes, math.MaxUint8))
	q.slotWeightChanged(t, was)
}

// divide changes the part of its weight that a tenant has on r. The other nodes do the same
// now, but have reported the weights of before: what the tenant gains here it loses there. A
// tenant that was not known to be here as well has reported its whole weight.
func (q *Queue) divide(name string, r *Resource, known bool) {
	t := q.tenants[name]
	if t == nil {
		return
	}
	count := func(sign int64) {
		for f := t.flows; f != nil; f = f.next {
			if f.tier.r == r && f.counted() {
				r.beside[f.tier.index] += sign * f.weight
			}
		}
	}
	if known {
		count(1)
	}
	reweigh(t, r, nil)
	count(-1)
}

func (q *Queue) reweighOn(name string, r *Resource) {
	if t := q.tenants[name]; t != nil {
		reweigh(t, r, nil)
	}
}

// Part returns the part of r that the tenants of this node get, by weight among the tenants of
// all nodes.
func (r *Resource) Part() float64 { return r.part }

// portion returns the part of r that a flow gets among the flows of all nodes.
func (r *Resource) portion(f *flow) float64 {
	all := r.weight
	for _, w := range r.beside {
		all += w
	}
	return r.claim(f) / float64(r.weight) * r.part / float64(all)
}

// weightOn returns the weight of t on r. A tenant with work on several nodes has a part of its
// weight on each.
func (t *Tenant) weightOn(r *Resource) int64 {
	if e := r.copies[t.name]; e.Nodes > 1 {
		return max(int64(float64(t.weight)*e.part()), 1)
	}
	return int64(t.weight)
}
