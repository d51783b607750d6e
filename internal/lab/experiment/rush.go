package experiment

import (
	"fmt"
	"runtime"

	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// rush is E18: every tenant submits a thousand items at the same moment.
func rush(size Size) []Line {
	n := sized(size, 10_000, Tenants)
	before := heapInUse()
	d, jobs := rushIn(n, 1000)
	held := float64(heapInUse()-before) / float64(n)
	even := d.evenAfter(jobs, 600)
	d.run(int64(n) * 1000 * 1000 * 9 / 10) // until nine tenths are done
	what := fmt.Sprintf("%d tenants at once", n)
	lines := []Line{
		d.peak(what),
		useLine("use, "+what, d.use()),
		atMost(16, "memory of a tenant that submitted, the experiment's own included", held, 1000, " B").timed(),
	}
	d.run(never / 4)
	undone := 0
	for _, j := range jobs {
		if j.done == 0 {
			undone++
		}
	}
	runtime.KeepAlive(d)
	lines = append(lines, atMost(7, "bulk actions of the rush that never ended", float64(undone), 0, ""))
	large, jobs := rushIn(n, 20_000)
	rounds := large.evenAfter(jobs, 600)
	large.run(int64(n) * 600 * 1000 * 5) // the lowest tier has its rounds last
	const small = "a thousand items are small work, which is ended one bulk action after another and not in rounds; " +
		"with more than counts as small the rounds are even, see the next line"
	for k := range even {
		what := fmt.Sprintf("Jain index of tier %d after 6 rounds", k)
		lines = append(lines, atLeast(7, what, even[k], 0.99, "").missed(small, 0.6),
			atLeast(7, what+", 20,000 items each", rounds[k], 0.99, ""))
	}
	return lines
}

func rushIn(n int, items int64) (*drive, []*job) {
	d := newDrive(sched.Options{}, 1e6)
	return d, d.many(n, func(i int) job {
		return job{tenant: tenantName(i), tier: i % sched.Tiers, items: items, chunk: 100, service: 20 * ms}
	})
}

// evenAfter watches how even each tier is at the moment at which its tenants have
// had so many items on average.
func (d *drive) evenAfter(jobs []*job, items int64) *[sched.Tiers]float64 {
	var even [sched.Tiers]float64
	var byTier [sched.Tiers][]*job
	var want, got [sched.Tiers]int64
	for _, j := range jobs {
		byTier[j.tier] = append(byTier[j.tier], j)
		want[j.tier] += items
	}
	d.onPick = func(p sched.Pick, j *job) {
		k := j.tier
		before := got[k]
		got[k] += int64(p.Cost)
		if before >= want[k] || got[k] < want[k] {
			return
		}
		served := make([]float64, len(byTier[k]))
		for i, j := range byTier[k] {
			served[i] = float64(j.served)
		}
		even[k] = virtual.Jain(served)
	}
	return &even
}
