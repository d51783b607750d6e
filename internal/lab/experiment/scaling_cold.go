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

// coldTasks is how many tasks of so many seconds a cold bulk has.
func coldTasks(seconds float64) int { return max(1000, int(64*coldFor/seconds)) }

// coldModel is a bulk on a lane that was never seen: 8 workers first, 64 at most.
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
		all := fixed(plain, 64)
		crowded.untilIdle, crowded.length = false, 120
		crowded.service = func(_ float64, running int) (float64, float64) {
			over := max(float64(running)/coldRoom, 1)
			return seconds * over, min(0.4*(over-1), 0.8)
		}
		few := fixed(crowded, coldRoom)
		missed := ""
		if seconds == 5 {
			missed = "all workers are there before the first slow task has ended, in a few seeds"
		}
		out = append(out, scalingShape{"", fmt.Sprintf("cold start, calls of %v s", seconds), plain, []scalingFigure{
			{what: "over 64 from the first second, worst", unit: "%", want: 10, measure: func(t laneTrace, seed uint64) float64 {
				return 100 * (t.idleAt/all.run(seed).idleAt - 1)
			}},
		}}, scalingShape{"", fmt.Sprintf("cold start, calls of %v s, room for %d", seconds, coldRoom), crowded, []scalingFigure{
			{what: "failed, worst", unit: "%", want: 40, measure: func(t laneTrace, _ uint64) float64 {
				failed := sumOf(t.failed)
				return 100 * float64(failed) / float64(max(failed+sumOf(t.done), 1))
			}, missed: missed, holds: 45},
			{what: "done of what its room does, worst", unit: "%", want: 50, atLeast: true, measure: func(t laneTrace, seed uint64) float64 {
				return 100 * float64(sumOf(t.done)) / float64(sumOf(few.run(seed).done))
			}},
		}})
	}
	return out
}

// coldLines play the cold start with all of a node around it, on one partition and on eight.
func coldLines(size Size) (lines []Line) {
	seeds := uint64(3)
	if size == Whole {
		seeds = 10
	}
	for _, partitions := range []int{1, 8} {
		for _, seconds := range []float64{0.1, 0.5, 1.5, 5} {
			worst := 0.0
			for seed := range seeds {
				cold := coldWorld(partitions, seconds, scalingSeeds+seed, 8)
				known := coldWorld(partitions, seconds, scalingSeeds+seed, 64)
				worst = max(worst, 100*(float64(cold)/float64(known)-1))
			}
			lines = append(lines, Line{
				Target: 14, What: fmt.Sprintf("cold start on %d partitions, calls of %v s: over 64 workers, worst", partitions, seconds),
				Got: worst, Want: 10, Unit: "%",
			})
		}
	}
	return lines
}

// coldWorld is how long one bulk action takes with so many workers first and 64 at most.
func coldWorld(partitions int, seconds float64, seed uint64, workers int) model.Span {
	r, err := model.Run(model.World{
		Seed: seed, Partitions: partitions, Workers: model.Workers{Start: workers, Max: 64},
		Resources:   []model.Resource{{Name: "r", Downstream: model.Downstream{Latency: model.Span(seconds * float64(time.Second))}}},
		BulkActions: []model.BulkAction{{Name: "b", Items: int64(100 * coldTasks(seconds)), Steps: []string{"r"}}},
	})
	if err != nil {
		panic("experiment: " + err.Error())
	}
	return r.End
}
