package experiment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// retries is E9: one in twenty fails for a moment. What is tried again takes its share
// of the rate, and the end comes soon after the last of the work.
func retries(size Size) []Line {
	n := 11
	if size == Small {
		n = 1
	}
	all := each(seeds(91, n), func(seed uint64) []Line {
		return append(failing(seed, "tasks", failTask), failing(seed, "items", failItems)...)
	})
	lines := worstOf(all)
	// The bounds are the waits of a task that fails twice, and of an item that needs
	// its last attempt, against 105 s of work.
	lines[0].Missed = "the worst seeds have a task that fails twice at the very end, and waits 1 and 2 s; the wait does not grow with the work"
	lines[0].Holds = 100 * (1 + 2) / 105.0
	items := slices.IndexFunc(lines, func(l Line) bool { return l.Target == 10 && strings.Contains(l.What, "of items") })
	lines[items].Missed = "of a million items that fail one by one a few need their fourth attempt at the very end, in one of the seeds the fifth, and wait up to 1, 2, 4 and 8 s for them; the wait does not grow with the work"
	lines[items].Holds = 100 * (1 + 2 + 4 + 8) / 105.0
	return append([]Line{medianOf(all, 0)}, lines...)
}

// failTask fails one task in twenty as a whole.
func failTask(rng *rand.Rand, r *partition.Result) {
	if rng.IntN(20) == 0 {
		r.Failure = &partition.Failure{Code: "gone"}
	}
}

// failItems fails one item in twenty.
func failItems(rng *rand.Rand, r *partition.Result) {
	r.Outcomes = append([]weir.Outcome(nil), r.Outcomes...)
	for i := range r.Outcomes {
		if rng.IntN(20) == 0 {
			r.Outcomes[i] = weir.Outcome{Kind: weir.Retry, Code: "gone"}
		}
	}
}

// failing runs 50 bulk actions of 20,000 items and compares their end with the time
// that all attempts take at the full rate.
func failing(seed uint64, what string, fail func(*rand.Rand, *partition.Result)) []Line {
	const rate, groups, items = 10_000, 50, 20_000
	rng := virtual.Chance(seed, 1)
	n := newNode(1, step("a", rate))
	n.service = func(*partition.Task) int64 { return 50 * ms }
	n.answer = func(_ *partition.Task, r *partition.Result) { fail(rng, r) }
	for i := range groups {
		id := weir.BulkID(fmt.Sprint("ba_", i))
		n.submit(0, partition.Created{ID: id, Tenant: fmt.Sprint("t", i), Items: items})
	}
	n.run(never)
	end, lost := int64(0), int64(0)
	for _, v := range n.ended { // sums: order does not reach them
		end = max(end, v.Finished.UnixNano()-epoch)
		lost += items - v.Counts.Done - v.Counts.Failed
	}
	work := float64(n.meters["a"].Total) / rate
	what = fmt.Sprintf("5 %% of %s fail", what)
	return []Line{
		{Target: 10, What: "end over the work done, " + what, Got: 100 * (float64(end)/1e9/work - 1), Want: 1.5, Unit: " %"},
		{Target: 10, What: "bulk actions that did not end, " + what, Got: float64(groups - len(n.ended)), Want: 0},
		{Target: 10, What: "items without an end, " + what, Got: float64(lost), Want: 0},
		n.peaks(what),
	}
}
