package experiment

import (
	"fmt"

	"github.com/weirhq/weir/internal/core/sched"
)

// capped is E10: a tenant at its cap stays there, and the others use what it leaves.
func capped(Size) []Line {
	d := newDrive(sched.Options{})
	r := d.resource(sched.ResourceConfig{Name: "r", Rate: 1000})
	d.q.SetTenant(d.Now(), d.q.Tenant("t0"), sched.Unit, 2)
	for i := range 10 {
		d.add(job{tenant: fmt.Sprint("t", i), tier: 2, r: r, items: 1e9, chunk: 10, service: 200 * ms})
	}
	most := 0
	d.onPick = func(sched.Pick, *job) { most = max(most, d.q.Tenant("t0").InFlight()) }
	d.run(120 * sec)
	return []Line{
		{Target: 11, What: "most tasks in flight of a tenant with a cap of 2", Got: float64(most), Want: 2},
		{Target: 11, What: "the same: it does reach its cap", Got: float64(most), Want: 2, AtLeast: true},
		{Target: 11, What: "use of the rate beside the capped tenant", Got: 100 * d.use(r), Want: 99, AtLeast: true, Unit: " %"},
		d.peak("one of ten tenants capped", r),
	}
}

// slow is E11: a tenant with slow tasks does not take all slots.
func slow(Size) []Line {
	d := newDrive(sched.Options{Slots: 100})
	r := d.resource(sched.ResourceConfig{Name: "r", Rate: 25_000})
	for i, service := range []int64{10 * sec, 200 * ms, 200 * ms} {
		d.add(job{tenant: fmt.Sprint("t", i), tier: 2, r: r, items: 1e9, chunk: 100, service: service})
	}
	d.run(300 * sec)
	return []Line{
		{Target: 12, What: "use beside a tenant of 10 s tasks, 100 slots", Got: 100 * d.use(r), Want: 95, AtLeast: true, Unit: " %"},
		d.peak("10 s tasks beside 0.2 s tasks", r),
	}
}
