package experiment

import (
	"fmt"

	"github.com/weirhq/weir/internal/core/sched"
)

// limited is E1: fifteen thousand jobs in three groups end when their limits say,
// and a downstream that enforces the same limits refuses none of them.
func limited(Size) (lines []Line) {
	for _, c := range []struct {
		what      string
		resources int
		rate      float64
	}{{"three resources of 10/s", 3, 10}, {"one resource of 30/s", 1, 30}} {
		d := newDrive(sched.Options{})
		var rs []*sched.Resource
		for i := range c.resources {
			rs = append(rs, d.resource(sched.ResourceConfig{Name: fmt.Sprint("r", i), Rate: c.rate}))
		}
		var jobs []*job
		for i := range 3 {
			jobs = append(jobs, d.add(job{tenant: fmt.Sprint("t", i), tier: 2, r: rs[i%len(rs)], items: 5000, service: 50 * ms}))
		}
		d.run(never / 4)
		slowest, refused := int64(0), int64(0)
		for _, r := range rs {
			refused += d.meters[r].over
		}
		for _, j := range jobs {
			slowest = max(slowest, j.done-d.start)
		}
		lines = append(lines,
			Line{Target: 1, What: "15,000 jobs, time over the ideal 500 s, " + c.what, Got: 100 * (float64(slowest)/1e9/500 - 1),
				Want: 1, Unit: " %"},
			Line{Target: 1, What: "throttles per job by a downstream with these limits, " + c.what, Got: float64(refused) / 15_000, Want: 0},
			Line{Target: 1, What: "queue reads without a start per job, " + c.what, Got: float64(d.spins) / 15_000, Want: 0},
			d.peak(c.what, rs...))
	}
	return lines
}
