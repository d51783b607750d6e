package experiment

import (
	"fmt"
	"runtime"

	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// rush is E18: every tenant submits a thousand items at the same moment.
func rush(size Size) []Line {
	n := Tenants
	if size == Small {
		n = 10_000
	}
	before := heapInUse()
	d := newDrive(sched.Options{})
	r := d.resource(sched.ResourceConfig{Name: "r", Rate: 1e6})
	jobs := rushIn(d, r, n, 1000)
	held := float64(heapInUse()-before) / float64(n)
	even := d.evenAfter(jobs, 600)
	d.run(int64(n) * 1000 * 1000 * 9 / 10) // until nine tenths are done
	use, peak := d.use(r), d.peak(fmt.Sprintf("%d tenants at once", n), r)
	d.run(never / 4)
	undone := 0
	for _, j := range jobs {
		if j.done == 0 {
			undone++
		}
	}
	runtime.KeepAlive(d)
	lines := []Line{
		peak,
		{Target: 3, What: fmt.Sprintf("use, %d tenants at once", n), Got: 100 * use, Want: 99, AtLeast: true, Unit: " %"},
		{Target: 16, What: "memory of a tenant that submitted, the experiment's own included", Got: held, Want: 1000, Unit: " B", Timed: true},
		{Target: 7, What: "bulk actions of the rush that never ended", Got: float64(undone), Want: 0},
	}
	large := newDrive(sched.Options{})
	rounds := large.evenAfter(rushIn(large, large.resource(sched.ResourceConfig{Name: "r", Rate: 1e6}), n, 20_000), 600)
	large.run(int64(n) * 600 * 1000 * 5) // the lowest tier has its rounds last
	for k := range even {
		what := fmt.Sprintf("Jain index of tier %d after 6 rounds", k)
		lines = append(lines,
			Line{
				Target: 7, What: what, Got: even[k], Want: 0.99, AtLeast: true, Holds: 0.6,
				Missed: "a thousand items are small work, which is ended one bulk action after another and not in rounds; with more than counts as small the rounds are even, see the next line",
			},
			Line{Target: 7, What: what + ", 20,000 items each", Got: rounds[k], Want: 0.99, AtLeast: true})
	}
	return lines
}

func rushIn(d *drive, r *sched.Resource, n int, items int64) []*job {
	jobs := make([]*job, n)
	for i := range jobs {
		jobs[i] = d.add(job{tenant: fmt.Sprint("tenant-", i), tier: i % sched.Tiers, r: r, items: items, chunk: 100, service: 20 * ms})
	}
	return jobs
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
