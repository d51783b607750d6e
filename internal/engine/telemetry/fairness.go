package telemetry

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/sched"
)

// Share is what a tenant should get of a resource, and what it gets.
type Share struct {
	Resource, Tenant string
	Weight           float64
	// Entitled and Actual are parts of what the resource does, from 0 to 1.
	Entitled, Actual float64
	Rate             float64 // items started per second, lately
	Ready            int64   // items
	InFlight         int     // tasks

	claim float64 // its weight among the others, with tiers taken into account
}

// demander wants a part of a resource.
type demander struct {
	weight, demand, got float64
	full                bool
}

// Shares reckons from what lanes observed how tenants share resources: those with
// the most to do on each. A tenant is entitled to a part by its weight and by the
// tiers of its work, but to no more than it has to do; what it leaves is the others'.
func Shares(lanes []weir.Lane, weight func(tenant string) float64) (out []Share) {
	type key struct{ resource, tenant string }
	sum := map[key]*Share{}
	rates, backlog, weights := map[string]float64{}, map[string]int64{}, map[string]float64{}
	for i := range lanes {
		l := &lanes[i]
		r := l.ID.Resource
		rates[r] += l.Rate
		backlog[r] += l.Eligible
		weights[r] += float64(l.Weight) / sched.Unit
		for _, t := range l.Tenants {
			k := key{r, t.Tenant}
			if sum[k] == nil {
				sum[k] = &Share{Resource: r, Tenant: t.Tenant, Weight: weight(t.Tenant)}
			}
			sum[k].Rate += t.Rate
			sum[k].Ready += t.Ready
			sum[k].InFlight += t.InFlight
			sum[k].claim += t.Claim / sched.Unit
		}
	}
	byResource := map[string][]*Share{}
	for k, s := range sum {
		byResource[k.resource] = append(byResource[k.resource], s)
	}
	for r, total := range rates {
		of := byResource[r]
		slices.SortFunc(of, func(a, b *Share) int { return cmp.Compare(a.Tenant, b.Tenant) })
		rest := demander{weight: weights[r], demand: total + float64(backlog[r])}
		others := backlog[r]
		for _, s := range of {
			rest.weight -= s.claim
			rest.demand -= s.Rate + float64(s.Ready)
			others -= s.Ready
		}
		if theirs := sumRates(of); others <= 0 && theirs > 0 { // tenants without work have no share: leave out what they got a moment ago
			total, rest.demand = theirs, 0
		}
		entitle(of, rest, total)
		for _, s := range of {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b Share) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(b.Ready, a.Ready), cmp.Compare(a.Tenant, b.Tenant))
	})
	return out
}

func sumRates(of []*Share) (sum float64) {
	for _, s := range of {
		sum += s.Rate
	}
	return sum
}

// entitle divides what a resource does between those who want it, max-min by weight.
func entitle(of []*Share, rest demander, total float64) {
	all := make([]demander, 0, len(of)+1)
	weights := 0.0
	for _, s := range of {
		all = append(all, demander{weight: s.claim, demand: s.Rate + float64(s.Ready)})
		weights += s.claim
	}
	if rest.demand > 0.5 && rest.weight > 0 {
		all = append(all, rest)
		weights += rest.weight
	}
	capacity := total
	if capacity <= 0 {
		capacity = min(weights, 1e-9) // nothing runs: what they would get of a little
	}
	divide(all, capacity)
	for i, s := range of {
		s.Entitled = all[i].got / capacity
		if total > 0 {
			s.Actual = min(s.Rate/total, 1)
		}
	}
}

// divide gives each by weight, but no more than it demands, until all is given or every demander has enough.
func divide(all []demander, left float64) {
	for left > 1e-12 {
		weights := 0.0
		for i := range all {
			if !all[i].full {
				weights += all[i].weight
			}
		}
		if weights <= 0 {
			return
		}
		per, given, filled := left/weights, 0.0, false
		for i := range all {
			d := &all[i]
			if !d.full && d.got+per*d.weight >= d.demand {
				given += d.demand - d.got
				d.got, d.full, filled = d.demand, true, true
			}
		}
		if !filled {
			for i := range all {
				if d := &all[i]; !d.full {
					d.got += per * d.weight
				}
			}
			return
		}
		left -= given
	}
}

// Fairness returns Jain's index of the shares of each resource: (Σx)² / n·Σx², where x is what a tenant with work ready
// gets of what it is entitled to, and n the number of these tenants. It is 1 where all get the same part of their
// share, 1/n where one gets everything, and 1 where fewer than two compete. A resource that does nothing is left out.
func Fairness(shares []Share) map[string]float64 {
	type sums struct{ n, x, squares float64 }
	of := map[string]sums{}
	for i := range shares {
		s := &shares[i]
		a := of[s.Resource]
		if s.Ready > 0 && s.Entitled > 0 {
			x := s.Actual / s.Entitled
			a.n, a.x, a.squares = a.n+1, a.x+x, a.squares+x*x
		}
		of[s.Resource] = a
	}
	out := make(map[string]float64, len(of))
	for r, a := range of {
		switch {
		case a.n < 2:
			out[r] = 1
		case a.squares > 0:
			out[r] = a.x * a.x / (a.n * a.squares)
		}
	}
	return out
}
