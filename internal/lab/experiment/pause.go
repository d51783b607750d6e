package experiment

import (
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/core/sched"
)

// paused is E15: all of very many groups are paused at once and resumed.
func paused(size Size) []Line {
	n := Tenants
	if size == Small {
		n = 20_000
	}
	d := newDrive(sched.Options{})
	r := d.resource(sched.ResourceConfig{Name: "r", Rate: 10_000})
	jobs := make([]*job, n)
	for i := range jobs {
		jobs[i] = d.add(job{tenant: fmt.Sprint(i), tier: i % sched.Tiers, r: r, items: 1e6, chunk: 100, service: 20 * ms})
	}
	d.run(5 * sec)
	pausing := timed(n, func() {
		for _, j := range jobs {
			d.q.PauseBulk(d.Now(), j.e.Bulk())
		}
	})
	stray := 0
	d.onPick = func(sched.Pick, *job) { stray++ }
	cleaning := timed(n, func() { d.run(10 * sec) }) // there is nothing else to do
	lines := []Line{{Target: 17, What: fmt.Sprintf("tasks started of %d paused groups", n), Got: float64(stray), Want: 0}}
	lines = append(lines, d.resume(jobs)...)
	lines = append(lines, resumeByCommand())
	lines = append(lines, d.peak(fmt.Sprintf("%d groups paused and resumed", n), r))
	cancelling := timed(n, func() {
		for _, j := range jobs {
			d.q.RemoveBulk(d.Now(), j.e.Bulk())
		}
	})
	if size == Small {
		return lines // the rest is a matter of the machine as well
	}
	return append(lines,
		Line{Target: 17, What: "pause, each", Got: pausing, Want: 200, Unit: " ns", Timed: true},
		Line{Target: 17, What: "clean-up after the pauses, each, when next met", Got: cleaning, Want: 500, Unit: " ns", Timed: true},
		Line{Target: 17, What: "cancel with clean-up, each", Got: cancelling, Want: 700, Unit: " ns", Timed: true})
}

// resume ends the pauses and measures how long nothing starts: of one group alone,
// and of all of them.
func (d *drive) resume(jobs []*job) (lines []Line) {
	for _, c := range []struct {
		what string
		jobs []*job
	}{{"one group", jobs[:1]}, {"all groups", jobs}} {
		from, first := d.Now(), never
		d.onPick = func(sched.Pick, *job) { first = min(first, d.Now()) }
		for _, j := range c.jobs {
			d.q.ResumeBulk(d.Now(), j.e.Bulk())
		}
		d.run(d.Now() - d.start + 2*sec)
		lines = append(lines,
			Line{Target: 17, What: "first task after the resume of " + c.what, Got: float64(first-from) / 1e6, Want: 50, Unit: " ms"})
	}
	return lines
}

// timed is how many nanoseconds of real time each of n takes.
func timed(n int, do func()) float64 {
	begin := time.Now()
	do()
	return float64(time.Since(begin).Nanoseconds()) / float64(n)
}

// resumeByCommand pauses and resumes the bulk actions of a partition by commands, as users
// do, and measures how long the slowest of them waits for its first task when it is
// resumed alone, beside floods that are not paused.
func resumeByCommand() Line {
	const bulks, each = 100, 200 * ms
	n := newNode(1, step("a", 10_000))
	n.service = func(*partition.Task) int64 { return 20 * ms }
	resumed, first := map[weir.BulkID]int64{}, map[weir.BulkID]int64{}
	n.onStart = func(_ int, t *partition.Task) {
		if _, ok := first[t.Bulk]; !ok && resumed[t.Bulk] > 0 {
			first[t.Bulk] = n.Now()
		}
	}
	n.submit(0, partition.Created{ID: "ba_flood", Tenant: "flood", Items: 300_000})
	for i := range bulks {
		c := partition.Created{ID: weir.BulkID(fmt.Sprint("ba_", i)), Tenant: fmt.Sprint("t", i), Items: 500}
		n.submit(0, c)
		n.command(0, partition.Command{ID: c.ID, Verb: partition.Pause})
		n.At(epoch+5*sec+int64(i)*each, func() {
			resumed[c.ID] = n.Now()
			n.command(0, partition.Command{ID: c.ID, Verb: partition.Resume})
		})
	}
	n.run(never)
	slowest := int64(0)
	for id, at := range resumed { // the most: order does not reach it
		if first[id] == 0 {
			slowest = never
		}
		slowest = max(slowest, first[id]-at)
	}
	return Line{Target: 17, What: "first task after a resume by command, slowest of 100", Got: float64(slowest) / 1e6, Want: 50, Unit: " ms"}
}
