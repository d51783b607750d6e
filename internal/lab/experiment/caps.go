package experiment

import (
	"fmt"

	"github.com/weirhq/weir/internal/core/sched"
)

// capped is E10: a tenant at its cap stays there, and the others use what it leaves.
func capped(Size) []Line {
	d := newDrive(sched.Options{}, 1000)
	d.weigh("t0", sched.Unit, 2)
	d.many(10, func(i int) job {
		return job{tenant: fmt.Sprint("t", i), tier: 2, items: 1e9, chunk: 10, service: 200 * ms}
	})
	most := 0
	d.onPick = func(sched.Pick, *job) { most = max(most, d.q.Tenant("t0").InFlight()) }
	d.run(120 * sec)
	use := useLine("use of the rate beside the capped tenant", d.use())
	use.Target = 11
	return []Line{
		atMost(11, "most tasks in flight of a tenant with a cap of 2", float64(most), 2, ""),
		atLeast(11, "the same: it does reach its cap", float64(most), 2, ""),
		use,
		d.peak("one of ten tenants capped"),
	}
}

// slow is E11: a tenant with slow tasks does not take all slots.
func slow(Size) []Line {
	d := newDrive(sched.Options{Slots: 100}, 25_000)
	for i, service := range []int64{10 * sec, 200 * ms, 200 * ms} {
		d.add(job{tenant: fmt.Sprint("t", i), tier: 2, items: 1e9, chunk: 100, service: service})
	}
	d.run(300 * sec)
	return []Line{
		atLeast(12, "use beside a tenant of 10 s tasks, 100 slots", 100*d.use(), 95, " %"),
		d.peak("10 s tasks beside 0.2 s tasks"),
	}
}
