package experiment

import (
	"fmt"
	"math"

	"github.com/weirhq/weir/internal/core/sched"
)

// tierWeights are the shares of the tiers by default.
var tierWeights = [sched.Tiers]float64{6, 3, 2, 1}

// tierNames are the tiers in order.
var tierNames = [sched.Tiers]string{"critical", "high", "default", "low"}

// tiers is E7: however many tenants there are in a tier, none does better in a lower one. That
// tiers share 6:3:2:1 is a matter of whole engines, see fourTiers.
func tiers(Size) (lines []Line) {
	for _, tenants := range [][sched.Tiers]int{{1000, 0, 0, 1}, {1, 0, 0, 1000}, {200, 20, 50, 5}} {
		lines = append(lines, shareOut(tenants, 600*sec)...)
	}
	return lines
}

// shareOut lets so many tenants of each tier share a resource.
func shareOut(tenants [sched.Tiers]int, span int64) []Line {
	d := newDrive(sched.Options{}, 10_000)
	var jobs [sched.Tiers][]*job
	for k, n := range tenants {
		jobs[k] = d.many(n, func(i int) job {
			return job{tenant: fmt.Sprint(k, "/", i), tier: k, items: 1e9, chunk: 100, service: 10 * ms}
		})
	}
	d.run(span)
	var each [sched.Tiers]float64 // per tenant
	for k := range jobs {
		for _, j := range jobs[k] {
			each[k] += float64(j.served) / float64(tenants[k])
		}
	}
	least, below := math.Inf(1), -1
	for k := sched.Tiers - 1; k >= 0; k-- {
		if tenants[k] == 0 {
			continue
		}
		if below >= 0 {
			least = min(least, each[k]/tierWeights[k]*tierWeights[below]/each[below])
		}
		below = k
	}
	what := fmt.Sprintf("%d/%d/%d/%d tenants", tenants[0], tenants[1], tenants[2], tenants[3])
	return []Line{
		atLeast(8, "per weight, of a tenant one tier below, "+what, least, 0.995, "x"),
		useLine("use, "+what, d.use()), d.peak(what),
	}
}

// aged is E8: critical floods do not starve a crowd of low tenants, and the lane for
// tenants that waited too long is what makes the longest wait shorter.
func aged(Size) []Line {
	const low = 2000
	var waits []float64
	var lines []Line
	for _, share := range []float64{0.05, 1e-12} {
		d := newDrive(sched.Options{AgedShare: share}, 10_000)
		d.many(10, func(i int) job {
			return job{tenant: fmt.Sprint("critical", i), tier: 0, items: 1e9, chunk: 100, service: 10 * ms}
		})
		jobs := d.many(low, func(i int) job {
			return job{tenant: fmt.Sprint("low", i), tier: 3, items: 1e6, chunk: 100, service: 10 * ms}
		})
		d.run(900 * sec)
		longest := int64(0)
		for _, j := range jobs {
			longest = max(longest, j.longest, d.Now()-j.last)
		}
		waits = append(waits, float64(longest)/1e9)
		lines = append(lines, d.peak(fmt.Sprintf("%d low tenants, aged share %.2f", low, share)))
	}
	bound := 120 + low*100/((1.0/7+0.05)*10_000)
	return append([]Line{
		atMost(9, fmt.Sprintf("longest wait of %d low tenants beside critical floods", low), waits[0], bound, " s"),
		atMost(9, "the same, of what it is without the aged path", waits[0]/waits[1], 1, "x"),
	}, lines...)
}
