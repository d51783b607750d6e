package experiment

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// used is E2: one owner uses all of a rate while there is work, with very small tasks, with tasks
// of many sizes, and with a loop that wakes up late or stands still now and then. See bulkRates
// for whole engines.
func used(size Size) (lines []Line) {
	rng := virtual.Chance(21, 1)
	one := func(chunk int64) func() int64 { return func() int64 { return chunk } }
	lateness := func() int64 { return int64(rng.ExpFloat64() * 200e3) } // 0.2 ms in the mean
	stalls := func() int64 {
		if rng.IntN(100) == 0 {
			return 50 * ms
		}
		return lateness()
	}
	for _, c := range []struct {
		what  string
		rate  float64
		chunk func() int64
		late  func() int64
	}{
		{"100,000/s in single items", 100_000, one(1), nil},
		{"10,000/s in tasks of 1 to 100", 10_000, func() int64 { return 1 + rng.Int64N(100) }, nil},
		{"10,000/s in tasks of 100, loop 0.2 ms late", 10_000, one(100), lateness},
		{"10,000/s in tasks of 100, stalls of 50 ms", 10_000, one(100), stalls},
	} {
		d := newDrive(sched.Options{}, c.rate)
		d.late = c.late
		d.many(50, func(i int) job {
			return job{tenant: fmt.Sprint("t", i), tier: i % sched.Tiers, items: 1e9, chunk: c.chunk(), service: 20 * ms}
		})
		d.run(sized(size, 10*sec, 60*sec))
		lines = append(lines, useLine("use of "+c.what, d.use()), d.peak(c.what),
			atMost(1, "queue reads that start nothing, "+c.what, float64(d.spins), 0, ""))
	}
	return lines
}

// usedForReal is E3: the same by the clock on the wall, a loop that sleeps until the
// queue wants it.
func usedForReal(size Size) (lines []Line) {
	span := sized(size, time.Second, time.Minute)
	for _, rate := range []float64{10_000, 100_000} {
		for _, chunk := range []int64{100, 1} {
			d := byTheClock(span, rate, chunk)
			what := fmt.Sprintf("%v/s in tasks of %d, by the clock", rate, chunk)
			lines = append(lines, useLine("use of "+what, d.meters[d.r].use(d.start+int64(span))), d.peak(what))
		}
	}
	return lines
}

// byTheClock serves endless work of 50 tenants in real time.
func byTheClock(span time.Duration, rate float64, chunk int64) *drive {
	begin := time.Now()
	d := newDrive(sched.Options{}, rate)
	d.Advance(begin.UnixNano())
	d.start = d.Now()
	d.meters[d.r].from = d.start
	d.many(50, func(i int) job {
		return job{tenant: fmt.Sprint("t", i), tier: i % sched.Tiers, items: 1e12, chunk: chunk}
	})
	for {
		passed := time.Since(begin)
		if passed >= span {
			return d
		}
		d.Advance(d.start + int64(passed))
		for p, _, ok := d.pick(); ok; p, _, ok = d.pick() {
			d.q.Done(d.Now(), p, 0)
		}
		time.Sleep(time.Duration(d.q.Wake() - d.start - int64(time.Since(begin))))
	}
}
