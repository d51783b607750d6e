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
	n := sized(size, 20_000, Tenants)
	d := newDrive(sched.Options{}, 10_000)
	jobs := d.many(n, func(i int) job {
		return job{tenant: fmt.Sprint(i), tier: i % sched.Tiers, items: 1e6, chunk: 100, service: 20 * ms}
	})
	d.run(5 * sec)
	pausing := timed(jobs, func(j *job) { d.q.PauseBulk(d.Now(), j.e.Bulk()) })
	stray := 0
	d.onPick = func(sched.Pick, *job) { stray++ }
	begin := time.Now()
	d.run(10 * sec) // there is nothing else to do
	cleaning := float64(time.Since(begin).Nanoseconds()) / float64(n)
	lines := []Line{atMost(17, fmt.Sprintf("tasks started of %d paused groups", n), float64(stray), 0, "")}
	lines = append(lines, d.resume("one group", jobs[:1]), d.resume("all groups", jobs), resumeByCommand(),
		d.peak(fmt.Sprintf("%d groups paused and resumed", n)))
	cancelling := timed(jobs, d.remove)
	if size == Small {
		return lines // the rest is a matter of the machine as well
	}
	return append(lines,
		atMost(17, "pause, each", pausing, 200, " ns").timed(),
		atMost(17, "clean-up after the pauses, each, when next met", cleaning, 500, " ns").timed(),
		atMost(17, "cancel with clean-up, each", cancelling, 700, " ns").timed())
}

// resume ends the pauses of jobs and measures how long nothing starts.
func (d *drive) resume(what string, jobs []*job) Line {
	from, first := d.Now(), never
	d.onPick = func(sched.Pick, *job) { first = min(first, d.Now()) }
	for _, j := range jobs {
		d.q.ResumeBulk(d.Now(), j.e.Bulk())
	}
	d.run(d.Now() - d.start + 2*sec)
	return atMost(17, "first task after the resume of "+what, float64(first-from)/1e6, 50, " ms")
}

// timed returns how many nanoseconds of real time each takes.
func timed(jobs []*job, do func(*job)) float64 {
	begin := time.Now()
	for _, j := range jobs {
		do(j)
	}
	return float64(time.Since(begin).Nanoseconds()) / float64(len(jobs))
}

// resumeByCommand pauses and resumes the bulk actions of a partition by commands, as users
// do, and measures how long the slowest of them waits for its first task when it is
// resumed alone, beside floods that are not paused.
func resumeByCommand() Line {
	const bulks, each = 100, 200 * ms
	n := newNode(1, step("a", 10_000))
	n.service = func(*partition.Task) int64 { return 20 * ms }
	resumed, first := map[weir.BulkID]int64{}, map[weir.BulkID]int64{}
	n.onStart = func(t *partition.Task) {
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
	return atMost(17, "first task after a resume by command, slowest of 100", float64(slowest)/1e6, 50, " ms")
}
