package experiment

import "github.com/weirhq/weir/internal/core/scale"

const slowFrom, slowTo = 100, 300 // seconds

func isSlow(t float64) bool { return t >= slowFrom && t < slowTo }

// slowModel is a downstream that is four times slower for a while and fails a
// tenth of the tasks, however few they are.
func slowModel() laneModel {
	return laneModel{
		config: scale.Config{Max: 400}, length: 500, workers: 32, rate: steadily(50),
		service: func(t float64, _ int) (float64, float64) {
			if isSlow(t) {
				return 2, 0.1
			}
			return 0.5, 0
		},
		needed: func(t float64) float64 {
			if isSlow(t) {
				return 50 * 2 / 0.8
			}
			return 50 * 0.5 / 0.8
		},
	}
}

// crowdedModel is a downstream for forty tasks at once. More of them slow each
// other down and fail, and for a while more than it can take arrive.
func crowdedModel() laneModel {
	const room = 40
	rate := func(t float64) float64 {
		if isSlow(t) {
			return 100
		}
		return 50
	}
	return laneModel{
		config: scale.Config{Max: 400}, length: 500, workers: 32, rate: rate,
		service: func(_ float64, running int) (float64, float64) {
			over := max(float64(running)/room, 1)
			return 0.5 * over, min(0.4*(over-1), 0.8)
		},
		needed: func(t float64) float64 { return min(rate(t)*0.5/0.8, room) },
	}
}

// causeShapes ask when failures forbid growth: load causes them in the crowded
// model, where flow control notices it, and not in the slow one.
func causeShapes() []scalingShape {
	held, crowded := slowModel(), crowdedModel()
	held.strain = func(t float64) bool { return t >= slowFrom+5 && t < slowTo+5 }
	crowded.strain = held.strain
	return []scalingShape{
		{"slow", "4x slower, 10 % errors, no strain", slowModel(), []scalingFigure{
			{
				what: "slot wait p99, worst", unit: " s", want: 5, measure: wait99Of,
				missed: "one seed of forty; the others stay below 4 s", holds: 7,
			},
		}},
		{"slow-strained", "4x slower, 10 % errors, strained", held, []scalingFigure{
			{what: "growth while it lasts, worst", unit: "x", want: 1, measure: func(t laneTrace, _ uint64) float64 {
				return t.growth(slowFrom, slowTo)
			}, missed: "growth that was under way is carried out before the first slow task ends, in one seed of forty", holds: 1.25},
			{what: "backlog gone after, worst", unit: " s", want: 60, measure: func(t laneTrace, _ uint64) float64 {
				return t.calm(slowTo, 50)
			}},
		}},
		{"crowded", "crowded downstream, strained", crowded, []scalingFigure{
			{what: "good tasks per second of 80, median", unit: "/s", want: 60, median: true, atLeast: true, measure: goodWhileSlow},
			{what: "failed, median", unit: "%", want: 20, median: true, measure: failedWhileSlow},
		}},
	}
}

func goodWhileSlow(t laneTrace, _ uint64) float64 {
	return float64(sumOf(t.done[slowFrom:slowTo])) / (slowTo - slowFrom)
}

func failedWhileSlow(t laneTrace, _ uint64) float64 {
	good, failed := sumOf(t.done[slowFrom:slowTo]), sumOf(t.failed[slowFrom:slowTo])
	return 100 * float64(failed) / float64(good+failed)
}
