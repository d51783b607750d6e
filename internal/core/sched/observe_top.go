package sched

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	// topTenants is the number of tenants reported per resource.
	topTenants = 10
	// topLooks bounds how many flows are searched for them: the least recently served.
	topLooks = 1024
)

// TenantLoad describes the work of one tenant on a resource.
type TenantLoad struct {
	Name string
	// Backlog is the number of items that could be picked if the gate allowed it.
	Backlog int64
	// Taken is the number of items picked since the tenant last had nothing to do for a while.
	// It may restart from 0.
	Taken int64
	// InFlight is the number of the tenant's tasks in flight, on all resources.
	InFlight int
	// Claim is the part of the resource's Weight that the tenant's share is worth, with its
	// tier taken into account. In one tier it is the tenant's weight.
	Claim float64
}

// top returns the tenants with the most left to pick, the largest first. With very many tenants
// it searches only the least recently served.
func (r *Resource) top() (out []TenantLoad) {
	var most [topTenants]*flow
	found, looks := 0, topLooks
	for k := range r.tiers {
		for f := r.tiers[k].turn.first; f != nil && looks > 0; f = f.links[inTurn].next {
			looks--
			if found == topTenants && f.backlog <= most[topTenants-1].backlog {
				continue
			}
			at := min(found, topTenants-1)
			found = min(found+1, topTenants)
			for ; at > 0 && most[at-1].backlog < f.backlog; at-- {
				most[at] = most[at-1]
			}
			most[at] = f
		}
	}
	for _, f := range most[:found] {
		t := f.tenant
		if i := slices.IndexFunc(out, func(x TenantLoad) bool { return x.Name == t.name }); i >= 0 { // in another tier
			out[i].Backlog += f.backlog
			out[i].Taken += f.taken
			out[i].Claim += r.claim(f)
			continue
		}
		out = append(out, TenantLoad{Name: t.name, Backlog: f.backlog, Taken: f.taken, InFlight: int(t.inFlight), Claim: r.claim(f)})
	}
	slices.SortStableFunc(out, func(a, b TenantLoad) int { return cmp.Compare(b.Backlog, a.Backlog) })
	return out
}

// claim returns the part of the resource's weight that a flow's share is worth: that of its
// tier among the tiers that have work, and of the flow within its tier.
func (r *Resource) claim(f *flow) float64 {
	if f.tier.weight == 0 || f.tier.weight == r.weight {
		return float64(f.weight) // no other tier has work
	}
	all := 0.0
	for m := r.occupied; m != 0; m &= m - 1 {
		all += 1 / r.tiers[bits.TrailingZeros8(m)].perItem // the inverse of perItem is the tier's guarded weight
	}
	return float64(r.weight) / f.tier.perItem / all * float64(f.weight) / float64(f.tier.weight)
}

// Paused reports whether the tenant is paused.
func (t *Tenant) Paused() bool { return t.paused }
