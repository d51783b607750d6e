package experiment

import (
	"fmt"
	"math"
	"time"

	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/model"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// mixes is E19: twenty tenants of drawn tiers and weights flood one rate, in the
// partitions and on the nodes that users have.
func mixes(s Size) (lines []Line) {
	// The last two of the few have tenants that are due less than a task in two minutes.
	draws := sized(s, []uint64{0, 1, 2, 3, 4, 105, 124}, seeds(0, 200))
	for _, p := range places {
		what := fmt.Sprintf("%v, worst of %d mixes", p, len(draws))
		lines = append(lines, over(draws, func(seed uint64) []Line { return drawMix(seed+1900, p, what) })...)
	}
	return lines
}

const (
	mixTenants = 20
	mixRate    = 1000
	mixWarm    = 10 // seconds until nodes know each other's work
	mixTask    = 50 // items of a task: being one task ahead or behind is not unfair
)

func drawMix(seed uint64, p place, what string) []Line {
	rng := virtual.Chance(seed, 19)
	w := p.world(seed, api(mixRate, time.Duration(5+rng.IntN(200))*time.Millisecond))
	w.Length = model.Span(10 * time.Minute)
	var kinds []kind
	for i := range mixTenants {
		k := kind{tier: rng.IntN(sched.Tiers), weight: float64(1 + rng.IntN(10))}
		kinds = append(kinds, k)
		name := fmt.Sprint("t", i)
		w.Tenants = append(w.Tenants, model.Tenant{Name: name, Weight: k.weight})
		w.BulkActions = append(w.BulkActions, model.BulkAction{
			Name: fmt.Sprint("b", i), Tenant: name, Tier: tierNames[k.tier], Items: mixRate * 600, Batch: 20 + rng.IntN(81),
			Steps: []string{"api"},
		})
	}
	r := run(w)
	off, jain := offIdeal(r, kinds)
	share := atMost(8, "share of a tenant off its ideal, "+what, 100*off, 1, " %")
	if p.partitions == 1 {
		share = share.missed("so few workers are enough for one partition that each tenant has one or two of them", 10)
	}
	return []Line{
		share,
		atLeast(8, "Jain's index, "+what, jain, 0.999, ""),
		useLine("use, "+what, r.Resources[0].Use),
		atMost(2, "busiest second, of the rate, "+what, r.Resources[0].Peak/mixRate, 1, ""),
	}
}

// kind is what a tenant's share follows from.
type kind struct {
	tier   int
	weight float64
}

// ideal returns the share of each tenant: tiers by their weights, or what makes no tenant
// of a crowded tier have less than one of a lower one; inside a tier by weight.
func ideal(kinds []kind) []float64 {
	var in [sched.Tiers]float64
	for _, k := range kinds {
		in[k.tier] += k.weight
	}
	var tier [sched.Tiers]float64
	sum, lower := 0.0, -1
	for k := sched.Tiers - 1; k >= 0; k-- {
		if in[k] == 0 {
			continue
		}
		tier[k] = tierWeights[k]
		if lower >= 0 {
			tier[k] = max(tier[k], tier[lower]*tierWeights[k]/tierWeights[lower]*in[k]/in[lower])
		}
		sum, lower = sum+tier[k], k
	}
	shares := make([]float64, len(kinds))
	for i, k := range kinds {
		shares[i] = tier[k.tier] / sum * k.weight / in[k.tier]
	}
	return shares
}

// offIdeal returns the largest distance of a tenant from its ideal share, but for one task, as a part of that
// share, and Jain's index of what tenants got of their ideal with the same tolerance.
func offIdeal(r model.Result, kinds []kind) (off, jain float64) {
	got, all := gotAfter(r, mixWarm)
	var shares []float64
	for i, share := range ideal(kinds) {
		due := all * share
		x := (got[i] - min(max(got[i]-due, -mixTask), mixTask)) / due
		off = max(off, math.Abs(x-1))
		shares = append(shares, x)
	}
	return off, virtual.Jain(shares)
}
