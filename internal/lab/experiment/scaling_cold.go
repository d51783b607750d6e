package experiment

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/lab/model"
)

const (
	coldFor  = 24 // seconds that 64 workers take for a cold bulk, or more
	coldRoom = 16 // tasks that the crowded downstream bears at once
)

// coldTasks returns how many tasks of so many seconds a cold bulk has.
func coldTasks(seconds float64) int { return max(1000, int(64*coldFor/seconds)) }

// coldModel returns a bulk on a lane that was never seen: 8 workers first, 64 at most.
func coldModel(seconds float64) laneModel {
	return laneModel{
		config: scale.Config{Min: 8, Max: 64}, length: 3000, workers: 8, bulk: atOnce(coldTasks(seconds)), service: takes(seconds),
		untilIdle: true, needed: steadily(64),
	}
}

// coldShapes ask what it costs that nothing is known at first, and whether growth stops
// in front of a downstream that bears few tasks at once: more of them slow each other
// down and fail.
func coldShapes() []scalingShape {
	var out []scalingShape
	for _, seconds := range []float64{0.1, 0.5, 1.5, 5} {
		plain, crowded := coldModel(seconds), coldModel(seconds)
		crowded.untilIdle, crowded.length = false, 120
		crowded.service = crowding(coldRoom, seconds)
		few := fixed(crowded, coldRoom)
		missed := ""
		if seconds == 5 {
			missed = "all workers are there before the first slow task has ended, in a few seeds"
		}
		out = append(out, scalingShape{"", fmt.Sprintf("cold start, calls of %v s", seconds), plain, []scalingFigure{
			figure("over 64 from the first second, worst", 10, "%", longer(plain, 64)),
		}}, scalingShape{"", fmt.Sprintf("cold start, calls of %v s, room for %d", seconds, coldRoom), crowded, []scalingFigure{
			{atMost(14, "failed, worst", 0, 40, "%").missed(missed, 45), func(t laneTrace) float64 { return t.failures() }},
			{atLeast(14, "done of what its room does, worst", 0, 50, "%"), func(t laneTrace) float64 {
				return 100 * float64(t.Good(0, len(t.Lane))) / float64(few.run(t.seed).Good(0, len(t.Lane)))
			}},
		}})
	}
	return out
}

// coldLines play the cold start with all of a node around it, on one partition and on eight.
func coldLines(size Size) (lines []Line) {
	for _, partitions := range []int{1, 8} {
		for _, seconds := range []float64{0.1, 0.5, 1.5, 5} {
			what := fmt.Sprintf("cold start on %d partitions, calls of %v s: over 64 workers, worst", partitions, seconds)
			lines = append(lines, over(seeds(firstScaling, sized(size, 3, 10)), func(seed uint64) []Line {
				cold, known := coldWorld(partitions, seconds, seed, 8), coldWorld(partitions, seconds, seed, 64)
				return []Line{atMost(14, what, 100*(float64(cold)/float64(known)-1), 10, "%")}
			})...)
		}
	}
	return lines
}

// coldWorld returns how long one bulk action takes with so many workers first and 64 at most.
func coldWorld(partitions int, seconds float64, seed uint64, workers int) model.Span {
	r := api(0, time.Duration(seconds*float64(time.Second)))
	w := place{partitions, 1}.world(seed, r)
	w.Workers = model.Workers{Start: workers, Max: 64}
	w.BulkActions = []model.BulkAction{onAPI("b", int64(100*coldTasks(seconds)))}
	return run(w).End
}
