package sched

import "math"

// Work is what the tenants of one node have to run on a resource.
type Work struct {
	// Tiers is the weight of those that have something to run, by tier.
	Tiers [Tiers]int64
	// Tenants is who they are, if they are not too many.
	Tenants []string
}

// mostListed is how many tenants are listed of a resource. With more of them, one that is
// on several nodes has its weight on each.
const mostListed = 2048

// Work tells what there is to run on r. It is valid until the next call.
func (r *Resource) Work(w *Work) {
	w.Tenants = w.Tenants[:0]
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

// SetBeside tells what other nodes have to run on r: the weight of their tenants by
// tier, and of tenants that are not on one node alone, on how many they are. Tiers
// and tenants get the parts here that make one order of all nodes: a tenant has its
// weight once.
func (q *Queue) SetBeside(r *Resource, tiers [Tiers]int64, copies map[string]int) {
	was := r.copies
	r.beside, r.copies = tiers, copies
	for name, n := range was { // each changes sums of its own: order does not reach the output
		if copies[name] != n {
			q.reweighOn(name, r)
		}
	}
	for name := range copies { // as above: order does not reach the output
		if was[name] == 0 {
			q.reweighOn(name, r)
		}
	}
	r.guardTiers(q.opt.NoTierGuard)
}

// SetNodes tells on how many nodes a tenant has work, for its share of the slots.
func (q *Queue) SetNodes(name string, nodes int) {
	t := q.tenants[name]
	if t == nil {
		return
	}
	was := t.slotWeight()
	t.nodes = uint8(min(nodes, math.MaxUint8))
	q.slotWeightChanged(t, was)
}

func (q *Queue) reweighOn(name string, r *Resource) {
	if t := q.tenants[name]; t != nil {
		reweigh(t, r, nil)
	}
}

// Part returns the part of r that is due to the tenants of this node, beside those of
// others: the weight of all tenants is the whole.
func (r *Resource) Part() float64 { return r.part }

// portion returns the part of r that is due to a flow, beside those of all nodes.
func (r *Resource) portion(f *flow) float64 {
	all := r.weight
	for _, w := range r.beside {
		all += w
	}
	return r.claim(f) / float64(r.weight) * r.part / float64(all)
}

// weightOn is the weight of t on r: of one that has work on several nodes, the part that is due to this one.
func (t *Tenant) weightOn(r *Resource) int64 {
	if n := r.copies[t.name]; n > 1 {
		return max(int64(t.weight)/int64(n), 1)
	}
	return int64(t.weight)
}
