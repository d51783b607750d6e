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
	draws := []uint64{0, 1, 2, 3, 4, 105, 124} // the last two have tenants to whom less than a task in two minutes is due
	if s == Whole {
		draws = seeds(0, 200)
	}
	for _, p := range places {
		off, jain, use, peak := 0.0, 1.0, 1.0, 0.0
		for _, seed := range draws {
			m := drawMix(seed+1900, p)
			off, jain = max(off, m.off), min(jain, m.jain)
			use, peak = min(use, m.use), max(peak, m.peak)
		}
		what := fmt.Sprintf("%v, worst of %d mixes", p, len(draws))
		share := Line{Target: 8, What: "share of a tenant off its ideal, " + what, Got: 100 * off, Want: 1, Unit: " %"}
		if p.partitions == 1 {
			share.Missed, share.Holds = "so few workers are enough for one partition that each tenant has one or two of them", 10
		}
		lines = append(lines, share,
			Line{Target: 8, What: "Jain's index, " + what, Got: jain, Want: 0.999, AtLeast: true},
			Line{Target: 3, What: "use, " + what, Got: 100 * use, Want: 99, AtLeast: true, Unit: " %"},
			Line{Target: 2, What: "busiest second, of the rate, " + what, Got: peak, Want: 1})
	}
	return lines
}

// mix is how one draw went: the largest distance of a tenant from its ideal share, but for one task,
// as a part of that share, Jain's index of what tenants got of their ideal with the same tolerance, how much of the rate was used,
// and the busiest second as a part of it.
type mix struct{ off, jain, use, peak float64 }

const (
	mixTenants = 20
	mixRate    = 1000
	mixWarm    = 10 // seconds until nodes know each other's work
	mixTask    = 50 // items of a task: being one task ahead or behind is not unfair
)

func drawMix(seed uint64, p place) mix {
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
			Name: fmt.Sprint("b", i), Tenant: name, Tier: tierNames[k.tier], Items: mixRate * 600, Batch: 20 + rng.IntN(81), Steps: []string{"api"},
		})
	}
	return judgeMix(run(w), kinds)
}

// kind is what a tenant's share follows from.
type kind struct {
	tier   int
	weight float64
}

// ideal is the share of each tenant: tiers by their weights, or what makes no tenant
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

func judgeMix(r model.Result, kinds []kind) mix {
	got, all := gotAfter(r, mixWarm*time.Second)
	m, shares := mix{use: r.Resources[0].Use, peak: r.Resources[0].Peak / mixRate}, make([]float64, 0, len(kinds))
	for i, share := range ideal(kinds) {
		due := all * share
		x := (got[i] - min(max(got[i]-due, -mixTask), mixTask)) / due
		m.off = max(m.off, math.Abs(x-1))
		shares = append(shares, x)
	}
	m.jain = virtual.Jain(shares)
	return m
}
