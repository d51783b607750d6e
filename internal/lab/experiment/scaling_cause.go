package experiment

const slowFrom, slowTo = 100, 300 // seconds

// slowModel returns a downstream that is four times slower for a while and fails a
// tenth of the tasks, however few they are.
func slowModel() laneModel {
	m := following(steadily(50), 500)
	takes, fails := during(slowFrom, slowTo, 2, 0.5), during(slowFrom, slowTo, 0.1, 0)
	m.workers = 32
	m.service = func(t float64, _ int) (float64, float64) { return takes(t), fails(t) }
	m.needed = func(t float64) float64 { return 50 * takes(t) / 0.8 }
	return m
}

// crowding returns a downstream with room for so many tasks of so many seconds. More of them slow each other down and fail.
func crowding(room, seconds float64) func(float64, int) (float64, float64) {
	return func(_ float64, running int) (float64, float64) {
		over := max(float64(running)/room, 1)
		return seconds * over, min(0.4*(over-1), 0.8)
	}
}

// crowdedModel returns a downstream for forty tasks at once, to which for a while more come than it can take.
func crowdedModel() laneModel {
	const room = 40
	rate := during(slowFrom, slowTo, 100, 50)
	m := following(rate, 500)
	m.workers, m.service = 32, crowding(room, 0.5)
	m.needed = func(t float64) float64 { return min(rate(t)*0.5/0.8, room) }
	return m
}

// causeShapes ask when failures forbid growth: load causes them in the crowded
// model, where flow control notices it, and not in the slow one.
func causeShapes() []scalingShape {
	held, crowded := slowModel(), crowdedModel()
	held.strain = func(t float64) bool { return t >= slowFrom+5 && t < slowTo+5 }
	crowded.strain = held.strain
	return []scalingShape{
		{"slow", "4x slower, 10 % errors, no strain", slowModel(), []scalingFigure{
			{atMost(14, "slot wait p99, worst", 0, 5, " s").missed("one seed of forty; the others stay below 4 s", 7), wait99},
		}},
		{"slow-strained", "4x slower, 10 % errors, strained", held, []scalingFigure{
			{atMost(14, "growth while it lasts, worst", 0, 1, "x").missed(
				"growth that was under way is carried out before the first slow task ends, in one seed of forty", 1.25),
				growth(slowFrom, slowTo)},
			figure("backlog gone after, worst", 60, " s", calm(slowTo, 50)),
		}},
		{"crowded", "crowded downstream, strained", crowded, []scalingFigure{
			{atLeast(14, "good tasks per second of 80, median", 0, 60, "/s").taken(byMedian), goodWhileSlow},
			{atMost(14, "failed, median", 0, 20, "%").taken(byMedian), failedWhileSlow},
		}},
	}
}

func goodWhileSlow(t laneTrace) float64 {
	return float64(t.Good(slowFrom, slowTo)) / (slowTo - slowFrom)
}

func failedWhileSlow(t laneTrace) float64 { return t.Lane[slowFrom:slowTo].failures() }
