package experiment

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// fair is E6: tenants that are busy at the same time advance together, within a task
// of each over any interval, and almost evenly when there are very many.
func fair(size Size) []Line {
	worlds := sized(size, 20, 200)
	lines := over(seeds(0, worlds), func(seed uint64) []Line {
		what := fmt.Sprintf("service apart, of the bound, worst of %d mixes of weights", worlds)
		return []Line{atMost(7, what, apart(seed), 1, "x")}
	})
	return append(lines, even(sized(size, 10_000, Tenants))...)
}

// apart serves a few tenants of random weights and task sizes and returns how far two
// of them moved apart at most, over all intervals, in terms of what is allowed: one
// task of each.
func apart(seed uint64) (worst float64) {
	const far = 1000 * time.Hour // the aged path is not part of the bound
	rng := virtual.Chance(61, seed)
	d := newDrive(sched.Options{AgedAfter: [sched.Tiers]time.Duration{far, far, far, far}}, 0)
	n := 2 + rng.IntN(10)
	weights, bounds := make([]float64, n), make([]float64, n)
	jobs := d.many(n, func(i int) job {
		w, c := 50+rng.Int64N(10_000), 1+rng.Int64N(100)
		d.weigh(fmt.Sprint(i), w, 0)
		weights[i], bounds[i] = float64(w), float64(c)/float64(w)
		return job{tenant: fmt.Sprint(i), tier: 1, items: 1e12, chunk: c}
	})
	low, high := make([]float64, n*n), make([]float64, n*n)
	for picks := range 3000 {
		d.serve()
		cut := float64(picks+1) / (1 << 30) // charges are cut to whole units of the tags
		for i := range jobs {
			for k := range i {
				gap := float64(jobs[i].served)/weights[i] - float64(jobs[k].served)/weights[k]
				at := i*n + k
				low[at], high[at] = min(low[at], gap), max(high[at], gap)
				worst = max(worst, (high[at]-low[at])/(bounds[i]+bounds[k]+cut))
			}
		}
	}
	return worst
}

// even serves very many backlogged tenants of random weights and task sizes.
func even(tenants int) (lines []Line) {
	d := newDrive(sched.Options{}, 0)
	rng := virtual.Chance(62, 1)
	weights := make([]float64, tenants)
	jobs := d.many(tenants, func(i int) job {
		w := int64(sched.Unit/2 + rng.IntN(sched.Unit))
		d.weigh(fmt.Sprint(i), w, 0)
		weights[i] = float64(w)
		return job{tenant: fmt.Sprint(i), tier: 2, items: 1e6, chunk: 50 + rng.Int64N(50)}
	})
	picks, got := 0, make([]float64, tenants)
	for _, n := range []int{6, 18} {
		for ; picks < n*tenants; picks++ {
			d.serve()
		}
		for i, j := range jobs {
			got[i] = float64(j.served) / weights[i]
		}
		what := fmt.Sprintf("Jain index of %d tenants after %d tasks each", tenants, n)
		lines = append(lines, atLeast(7, what, virtual.Jain(got), 1-0.3/float64(n*n), ""))
	}
	return lines
}
