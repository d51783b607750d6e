package experiment

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// retries is E9: one in twenty fails for a moment. What is tried again takes its share
// of the rate, and the end comes soon after the last of the work.
func retries(size Size) []Line {
	return overSeeds(seeds(91, sized(size, 1, 11)), func(seed uint64) []Line {
		tasks, items := failing(seed, "tasks", failTask), failing(seed, "items", failItems)
		usual := tasks[0].taken(byMedian)
		// The bounds are the waits of a task that fails twice, and of an item that needs
		// its last attempt, against 105 s of work.
		tasks[0] = tasks[0].missed("the worst seeds have a task that fails twice at the very end, and waits 1 and 2 s; "+
			"the wait does not grow with the work", 100*(1+2)/105.0)
		items[0] = items[0].missed("of a million items that fail one by one a few need their fourth attempt at the very end, "+
			"in one of the seeds the fifth, and wait up to 1, 2, 4 and 8 s for them; the wait does not grow with the work",
			100*(1+2+4+8)/105.0)
		return slices.Concat([]Line{usual}, tasks, items)
	})
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
			r.Outcomes[i] = weir.Outcome{Kind: weir.OutcomeRetry, Code: "gone"}
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
		atMost(10, "end over the work done, "+what, 100*(float64(end)/1e9/work-1), 1.5, " %"),
		atMost(10, "bulk actions that did not end, "+what, float64(groups-len(n.ended)), 0, ""),
		atMost(10, "items without an end, "+what, float64(lost), 0, ""),
		n.peaks(what),
	}
}
