package experiment

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// fair is E6: tenants that are busy at the same time advance together, within a task
// of each over any interval, and almost evenly when there are very many.
func fair(size Size) []Line {
	tenants, worlds := 220_000, 200
	if size == Small {
		tenants, worlds = 10_000, 20
	}
	worst := 0.0
	for seed := range worlds {
		worst = max(worst, apart(virtual.Chance(61, uint64(seed))))
	}
	lines := []Line{{
		Target: 7, What: fmt.Sprintf("service apart, of the bound, worst of %d mixes of weights", worlds),
		Got: worst, Want: 1, Unit: "x",
	}}
	return append(lines, even(tenants)...)
}

// apart serves a few tenants of random weights and task sizes and returns how far two
// of them moved apart at most, over all intervals, in terms of what is allowed: one
// task of each.
func apart(rng *rand.Rand) (worst float64) {
	const far = 1000 * time.Hour // the aged path is not part of the bound
	d := newDrive(sched.Options{AgedAfter: [sched.Tiers]time.Duration{far, far, far, far}})
	r := d.resource(sched.ResourceConfig{Name: "r"})
	n := 2 + rng.IntN(10)
	jobs, weights, bounds := make([]*job, n), make([]float64, n), make([]float64, n)
	for i := range jobs {
		w, c := 50+rng.Int64N(10_000), 1+rng.Int64N(100)
		d.q.SetTenant(d.Now(), d.q.Tenant(fmt.Sprint(i)), w, 0)
		jobs[i] = d.add(job{tenant: fmt.Sprint(i), tier: 1, r: r, items: 1e12, chunk: c})
		weights[i], bounds[i] = float64(w), float64(c)/float64(w)
	}
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
	d := newDrive(sched.Options{})
	r := d.resource(sched.ResourceConfig{Name: "r"})
	rng := virtual.Chance(62, 1)
	jobs, weights := make([]*job, tenants), make([]float64, tenants)
	for i := range jobs {
		name, w := fmt.Sprint(i), int64(sched.Unit/2+rng.IntN(sched.Unit))
		d.q.SetTenant(d.Now(), d.q.Tenant(name), w, 0)
		jobs[i] = d.add(job{tenant: name, tier: 2, r: r, items: 1e6, chunk: 50 + rng.Int64N(50)})
		weights[i] = float64(w)
	}
	picks, got := 0, make([]float64, tenants)
	for _, n := range []int{6, 18} {
		for ; picks < n*tenants; picks++ {
			d.serve()
		}
		for i, j := range jobs {
			got[i] = float64(j.served) / weights[i]
		}
		lines = append(lines, Line{
			Target: 7, What: fmt.Sprintf("Jain index of %d tenants after %d tasks each", tenants, n),
			Got: virtual.Jain(got), Want: 1 - 0.3/float64(n*n), AtLeast: true,
		})
	}
	return lines
}
