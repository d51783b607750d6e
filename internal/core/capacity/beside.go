package capacity

import (
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/weirhq/weir/internal/core/sched"
)

// stayFor is how long a tenant still counts as active after its last work, so that one with
// sparse work does not flip between active and idle.
const stayFor = int64(2 * time.Second)

// Want describes what one node has to run on a resource, for other nodes.
type Want struct {
	// Tiers holds the weight of the tenants that have something to run, by tier.
	Tiers [sched.Tiers]int64 `json:"tiers"`
	// Tenants lists them as hashes of their names; empty if they are very many.
	Tenants []uint32 `json:"tenants,omitempty"`
	// Needs holds what some of them need for their deadlines.
	Needs map[uint32]sched.Need `json:"needs,omitempty"`
}

// Wants describes what one node has to run, by resource.
type Wants map[string]Want

// Wants returns what this node has to run.
func (n *Node) Wants(now int64) Wants {
	all := Wants{}
	for _, r := range n.resources {
		r.entry.Work(now, &n.work)
		for _, name := range n.work.Tenants {
			r.seen[name] = now
		}
		var tenants []uint32
		for name, at := range r.seen { // sorted below: the order does not reach the output
			if now-at > stayFor {
				delete(r.seen, name)
				continue
			}
			tenants = append(tenants, hashed(name))
		}
		if n.work.Tiers != ([sched.Tiers]int64{}) || len(tenants) > 0 {
			slices.Sort(tenants)
			all[r.limits.Name] = Want{n.work.Tiers, tenants, r.tellNeeds(n.work.Needs)}
		}
	}
	return all
}

// tellNeeds records what other nodes are told. Only a rate can be moved from one node to
// another.
func (r *Resource) tellNeeds(needs map[string]sched.Need) map[uint32]sched.Need {
	r.needs = nil
	if r.limits.Rate == 0 || len(needs) == 0 {
		return nil
	}
	r.needs = needs
	told := map[uint32]sched.Need{}
	for name, n := range needs { // each for itself: order does not reach the output
		told[hashed(name)] = n
	}
	return told
}

func hashed(tenant string) uint32 { return uint32(xxh3.HashString(tenant)) }

// Others sums up what the other nodes have to run.
type Others struct {
	tiers map[string][sched.Tiers]int64
	nodes map[uint32]int   // number of nodes with work of a tenant
	on    map[tenantOn]int // the same for one resource
	needs map[tenantOn]sched.Need
}

// tenantOn is a tenant at a resource.
type tenantOn struct {
	resource string
	tenant   uint32
}

// Gather adds up what other nodes have to run.
func Gather(others []Wants) *Others {
	o := &Others{tiers: map[string][sched.Tiers]int64{}, nodes: map[uint32]int{}, on: map[tenantOn]int{},
		needs: map[tenantOn]sched.Need{}}
	for _, wants := range others {
		here := map[uint32]bool{}
		for name, w := range wants { // sums: the order does not reach the output
			sum := o.tiers[name]
			for k := range sum {
				sum[k] += w.Tiers[k]
			}
			o.tiers[name] = sum
			for _, t := range w.Tenants {
				o.on[tenantOn{name, t}]++
				here[t] = true
			}
			for t, n := range w.Needs { // sums: order does not reach the output
				o.needs[tenantOn{name, t}] = o.needs[tenantOn{name, t}].Add(n)
			}
		}
		for t := range here { // sums: order does not reach the output
			o.nodes[t]++
		}
	}
	return o
}

// SetBeside makes the node's order part of one order over all nodes: each tier and tenant gets this
// node's share of its weight. A tenant with work on several nodes has its weight once in total.
func (n *Node) SetBeside(o *Others) {
	was := n.several
	n.several = map[string]bool{}
	for _, r := range n.resources {
		copies := map[string]sched.Elsewhere{}
		for name := range r.seen { // each changes sums of its own: the order does not reach the output
			t := hashed(name)
			at := tenantOn{r.limits.Name, t}
			if k := o.on[at]; k > 0 {
				copies[name] = sched.Elsewhere{Nodes: k + 1, Here: r.needs[name], There: o.needs[at]}
			}
			if k := o.nodes[t]; k > 0 && !n.several[name] {
				n.several[name] = true
				n.queue.SetNodes(name, k+1)
			}
		}
		n.queue.SetBeside(r.entry, o.tiers[r.limits.Name], copies)
	}
	for name := range was { // each for itself: order does not reach the output
		if !n.several[name] {
			n.queue.SetNodes(name, 1)
		}
	}
	n.queue.Call()
}
