package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/partition"
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
	for r, total := range rates {
		var of []*Share
		rest := demander{weight: weights[r], demand: total + float64(backlog[r])}
		for k, s := range sum {
			if k.resource == r {
				of = append(of, s)
				rest.weight -= s.claim
				rest.demand -= s.Rate + float64(s.Ready)
			}
		}
		slices.SortFunc(of, func(a, b *Share) int { return cmp.Compare(a.Tenant, b.Tenant) })
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

// rateOver is the part of a new second in a rate that is told as lately.
const rateOver = 0.2

// addTenants reckons what the tenants of a lane got lately.
func (t *laneTotals) addTenants(now int64, x *partition.LaneLoad) {
	span := float64(now-t.looked) / 1e9
	if t.looked == 0 || span <= 0 {
		span = 1
	}
	part := min(rateOver*span, 1)
	t.Rate += part * (float64(x.Taken)/span - t.Rate)
	if t.Rate < 1e-3 {
		t.Rate = 0
	}
	taken, rates := make(map[string]int64, len(x.Top)), make(map[string]float64, len(x.Top))
	t.Tenants = make([]weir.LaneTenant, 0, len(x.Top))
	for _, top := range x.Top {
		got, rate := top.Taken, t.rates[top.Name]
		if before, known := t.taken[top.Name]; known && before <= top.Taken {
			got -= before
		}
		if t.looked == 0 {
			got = 0 // it is not known since when
		}
		rate += part * (float64(got)/span - rate)
		taken[top.Name], rates[top.Name] = top.Taken, rate
		t.Tenants = append(t.Tenants, weir.LaneTenant{Tenant: top.Name, Ready: top.Backlog, InFlight: top.InFlight, Rate: rate, Claim: top.Claim})
	}
	t.looked, t.taken, t.rates = now, taken, rates
}

// starving is the part of its share below which a tenant that has work starves.
const starving = 0.5

// countSeen counts what shows in two looks at this node's lanes.
func (e *Engine) countSeen(before, now *weir.Node) {
	shares := Shares(now.Lanes, e.weightOf)
	c := &e.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	c.relabel(now.At)
	if before == nil {
		return
	}
	span := min(now.At.Sub(before.At), 10*time.Second).Seconds()
	for i := range now.Lanes {
		if l := &now.Lanes[i]; l.Eligible > 0 && held(l.Cause) {
			c.blocked[l.ID.Resource] += span
		}
	}
	for i := range shares {
		if s := &shares[i]; s.Ready > 0 && s.Actual < starving*s.Entitled {
			c.starved[c.tenants.of(s.Tenant, 0)] += span
		}
	}
	was := map[string]string{}
	for i := range before.Resources {
		was[before.Resources[i].Name] = before.Resources[i].Circuit
	}
	for i := range now.Resources {
		u := &now.Resources[i]
		if cmp.Or(was[u.Name], string(flow.Closed)) != u.Circuit {
			c.circuits[transition{u.Name, u.Circuit}]++
		}
	}
}

// held reports whether it is the resource that a lane waits for.
func held(cause string) bool {
	return cause == sched.CauseRate.String() || cause == sched.CauseConcurrency.String() || cause == sched.CauseClosed.String() || cause == sched.CauseCircuit.String()
}

// weightOf is what a tenant has beside others.
func (e *Engine) weightOf(tenant string) float64 { return cmp.Or(e.tenantLimits(tenant).Weight, 1) }
