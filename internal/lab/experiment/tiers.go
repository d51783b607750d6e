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

// tiers is E7: equal numbers of tenants share 6:3:2:1, and however many there are in
// each tier, none does better in a lower one.
func tiers(Size) (lines []Line) {
	for _, tenants := range [][sched.Tiers]int{{25, 25, 25, 25}, {1000, 0, 0, 1}, {1, 0, 0, 1000}, {200, 20, 50, 5}} {
		lines = append(lines, shareOut(tenants, 600*sec)...)
	}
	return lines
}

// shareOut lets so many tenants of each tier share a resource.
func shareOut(tenants [sched.Tiers]int, span int64) (lines []Line) {
	d := newDrive(sched.Options{})
	r := d.resource(sched.ResourceConfig{Name: "r", Rate: 10_000})
	var jobs [sched.Tiers][]*job
	for k, n := range tenants {
		for i := range n {
			jobs[k] = append(jobs[k], d.add(job{tenant: fmt.Sprint(k, "/", i), tier: k, r: r, items: 1e9, chunk: 100, service: 10 * ms}))
		}
	}
	d.run(span)
	var each [sched.Tiers]float64 // per tenant
	total, off := 0.0, 0.0
	for k := range jobs {
		for _, j := range jobs[k] {
			each[k] += float64(j.served) / float64(tenants[k])
			total += float64(j.served)
		}
	}
	least, below := math.Inf(1), -1
	for k := sched.Tiers - 1; k >= 0; k-- {
		if tenants[k] == 0 {
			continue
		}
		off = max(off, math.Abs(each[k]*float64(tenants[k])/total*12/tierWeights[k]-1))
		if below >= 0 {
			least = min(least, each[k]/tierWeights[k]*tierWeights[below]/each[below])
		}
		below = k
	}
	what := fmt.Sprintf("%d/%d/%d/%d tenants", tenants[0], tenants[1], tenants[2], tenants[3])
	if tenants[0] == tenants[3] {
		lines = append(lines, Line{Target: 8, What: "tiers' shares off 6:3:2:1, " + what, Got: 100 * off, Want: 0.5, Unit: " %"})
	}
	return append(lines,
		Line{Target: 8, What: "per weight, of a tenant one tier below, " + what, Got: least, Want: 0.995, AtLeast: true, Unit: "x"},
		Line{Target: 3, What: "use, " + what, Got: 100 * d.use(r), Want: 99, AtLeast: true, Unit: " %"},
		d.peak(what, r))
}

// aged is E8: critical floods do not starve a crowd of low tenants, and the lane for
// tenants that waited too long is what makes the longest wait shorter.
func aged(Size) []Line {
	const low = 2000
	var waits []float64
	var lines []Line
	for _, share := range []float64{0.05, 1e-12} {
		d := newDrive(sched.Options{AgedShare: share})
		r := d.resource(sched.ResourceConfig{Name: "r", Rate: 10_000})
		for i := range 10 {
			d.add(job{tenant: fmt.Sprint("critical", i), tier: 0, r: r, items: 1e9, chunk: 100, service: 10 * ms})
		}
		var jobs []*job
		for i := range low {
			jobs = append(jobs, d.add(job{tenant: fmt.Sprint("low", i), tier: 3, r: r, items: 1e6, chunk: 100, service: 10 * ms}))
		}
		d.run(900 * sec)
		longest := int64(0)
		for _, j := range jobs {
			longest = max(longest, j.longest, d.Now()-j.last)
		}
		waits = append(waits, float64(longest)/1e9)
		lines = append(lines, d.peak(fmt.Sprintf("%d low tenants, aged share %.2f", low, share), r))
	}
	bound := 120 + low*100/((1.0/7+0.05)*10_000)
	return append([]Line{
		{Target: 9, What: fmt.Sprintf("longest wait of %d low tenants beside critical floods", low), Got: waits[0], Want: bound, Unit: " s"},
		{Target: 9, What: "the same, of what it is without the aged path", Got: waits[0] / waits[1], Want: 1, Unit: "x"},
	}, lines...)
}
