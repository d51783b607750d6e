package experiment

import (
	"fmt"

	"github.com/weirhq/weir/internal/core/partition"
)

// chains is E17: a chain over three resources runs at the pace of the slowest, and
// what waits between the steps stays little.
func chains(size Size) []Line {
	items := sized(size, int64(200_000), 1_000_000)
	const service = 50 * ms
	rates := []float64{10_000, 5000, 8000}
	n := newNode(1, step("a", rates[0]), step("b", rates[1]), step("c", rates[2]))
	n.service = func(*partition.Task) int64 { return service }
	var started, ended [3]int64
	var waiting [3]int64 // the most that had left the step before and not yet started
	n.onStart = func(_ int, t *partition.Task) { started[t.StepNo] += int64(len(t.Items)) }
	n.onEnd = func(t *partition.Task) {
		ended[t.StepNo] += int64(len(t.Items))
		if next := t.StepNo + 1; next < len(rates) {
			waiting[next] = max(waiting[next], ended[t.StepNo]-started[next])
		}
	}
	n.submit(0, partition.Created{ID: "ba_x", Tenant: "t", Items: items})
	n.run(never)
	v := n.ended["ba_x"]
	took, ideal := float64(v.Finished.UnixNano()-epoch)/1e9, float64(items)/rates[1]
	what := fmt.Sprintf("chain of 3, %d items", items)
	lines := []Line{
		atMost(19, "end over the slowest step's ideal, "+what, 100*(took/ideal-1), 2, " %"),
		atLeast(19, "items done, "+what, float64(v.Counts.Done), float64(items), ""),
	}
	for next := 1; next < len(rates); next++ {
		// Two seconds of the next step, and what is in flight when that is reached.
		most := 2*rates[next] + rates[next-1]*float64(service)/1e9 + 100
		lines = append(lines, atMost(19, fmt.Sprintf("items waiting before step %d", next+1), float64(waiting[next]), most, ""))
	}
	return append(lines, n.peaks(what))
}
