package experiment

import (
	"math"
	"slices"

	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// scalingShape is a load and what is to be seen under it.
type scalingShape struct {
	key     string // short, for plots
	name    string
	model   laneModel
	figures []scalingFigure
}

// scalingFigure is one measure of a shape. Its line is the worst of all seeds, or their median.
type scalingFigure struct {
	Line
	measure measure
}

// figure returns one that is to be at most so much.
func figure(what string, want float64, unit string, measure measure) scalingFigure {
	return scalingFigure{atMost(14, what, 0, want, unit), measure}
}

func steadily(rate float64) func(float64) float64 { return func(float64) float64 { return rate } }

func takes(mean float64) func(float64, int) (float64, float64) {
	return func(float64, int) (float64, float64) { return mean, 0 }
}

// atOnce returns so many tasks in the first second and none later.
func atOnce(tasks int) func(int) int {
	return func(second int) int {
		if second > 0 {
			return 0
		}
		return tasks
	}
}

// during returns one value from one second to another, and else the other.
func during(from, to, in, out float64) func(float64) float64 {
	return func(t float64) float64 {
		if t >= from && t < to {
			return in
		}
		return out
	}
}

// following returns a lane of tasks of half a second that arrive at a rate.
func following(rate func(t float64) float64, length float64) laneModel {
	return laneModel{
		config: scale.Config{Max: 400}, length: length, workers: 8, service: takes(0.5), rate: rate,
		needed: func(t float64) float64 { return rate(t) * 0.5 / 0.8 },
	}
}

const stepNeeds = 80 * 0.5 / 0.8 // workers at the target of 80 % busy

// stepModel is 10 tasks/s, eight times that from second 200 to 400, then 10 again.
func stepModel() laneModel { return following(during(200, 400, 80, 10), 700) }

func overStep(t laneTrace) float64 { return 100 * (float64(t.Most(0, len(t.Lane)))/stepNeeds - 1) }

// scalingShapes returns the loads of the design's table, in its order and with a few
// more, then what may go wrong.
func scalingShapes() []scalingShape {
	return slices.Concat(
		[]scalingShape{stepShape(), delayedShape(), constantShape()},
		arrivalShapes(),
		[]scalingShape{bulksShape(), limitedShape(), articleShape()},
		causeShapes(), incidentShapes(), nodeShapes(), leaderShapes(),
	)
}

func stepShape() scalingShape {
	there := reach(200, 0.9*stepNeeds)
	return scalingShape{"step", "step 8x", stepModel(), []scalingFigure{
		{atMost(14, "90 % of the workers are there, median", 0, 5, " s").taken(byMedian), there},
		figure("90 % of the workers are there, worst", 15, " s", there),
		{atMost(14, "overshoot, median", 0, 15, "%").taken(byMedian), overStep},
		figure("overshoot, worst", 35, "%", overStep),
		figure("reversals, worst", 5, "", reversals),
	}}
}

func delayedShape() scalingShape {
	m := stepModel()
	m.startup = 5
	return scalingShape{"late", "step 8x, workers start 5 s late", m, []scalingFigure{figure("overshoot, worst", 80, "%", overStep)}}
}

func constantShape() scalingShape {
	const hour, need = 3600, 50 * 0.5 / 0.8
	return scalingShape{"constant", "constant 50/s, 1 h", following(steadily(50), hour), []scalingFigure{
		figure("reversals, worst", 2, "", reversals),
		figure("slot wait p99, worst", 0.1, " s", wait99),
		figure("cost in worker-seconds over the law's, worst", 25, "%", func(t laneTrace) float64 {
			return 100 * (float64(t.sum(func(p Point) int { return p.Workers }))/(hour*need) - 1)
		}),
	}}
}

// arrivalShapes are rates of arrival that change all the time.
func arrivalShapes() []scalingShape {
	sine := following(func(t float64) float64 { return 50 * (1 + 0.6*math.Sin(2*math.Pi*t/600)) }, 3600)
	sine.workers = 32
	turns := func(most float64) scalingFigure { return figure("reversals, worst", most, "", reversals) }
	onOff := func(t float64) float64 { return during(0, 10, 80, 0)(math.Mod(t, 40)) }
	return []scalingShape{
		{"sine", "sine +-60 %, 600 s, 1 h", sine, []scalingFigure{turns(13)}},
		{"on-off", "on/off 10/30 s, 20 min", following(onOff, 1200), []scalingFigure{turns(10)}},
		{"burst", "burst 20x for 5 s", following(during(200, 205, 200, 10), 600), []scalingFigure{turns(5)}},
		{"ramp", "ramp 10 to 160/s", following(func(t float64) float64 { return 10 + t/4 }, 600), []scalingFigure{
			turns(5), figure("slot wait p99, worst", 1, " s", wait99),
		}},
	}
}

// bulksShape is bulks by chance: one in five seconds brings 10 to 1,000 tasks at once.
func bulksShape() scalingShape {
	rng := virtual.Chance(5, 8)
	sizes := make([]int, 3600)
	for i := range sizes {
		if size := math.Pow(10, 1+2*rng.Float64()); rng.Float64() < 0.2 {
			sizes[i] = int(size)
		}
	}
	m := laneModel{
		config: scale.Config{Max: 64}, length: 3600, workers: 8, service: takes(0.1), bulk: func(second int) int { return sizes[second] },
		needed: steadily(float64(sum(sizes)) / 3600 * 0.1 / 0.8),
	}
	return scalingShape{"bulks", "bulks of 10 to 1,000 by chance, 1 h", m, []scalingFigure{
		figure("reversals, worst", 30, "", reversals),
		figure("slot wait p99, worst", 4, " s", wait99),
	}}
}

func limitedShape() scalingShape {
	const useful = 20 * 0.5 / 0.9
	m := laneModel{
		config: scale.Config{Max: 64}, length: 600, workers: 4, limit: 20, service: takes(0.5), rate: steadily(5),
		bulk: atOnce(50_000), needed: steadily(useful),
	}
	return scalingShape{"limited", "rate-limited backlog", m, []scalingFigure{
		figure("workers per useful worker, worst", 1.5, "x", func(t laneTrace) float64 {
			return float64(t.Most(0, len(t.Lane))) / useful
		}),
	}}
}

// fixed holds a model at so many workers.
func fixed(m laneModel, workers int) laneModel {
	m.policy, m.workers, m.config.Paused = scale.Decide, workers, true
	return m
}

// longer returns how many percent longer than a model with so many fixed workers it took until all work was done.
func longer(m laneModel, workers int) measure {
	other := fixed(m, workers)
	return func(t laneTrace) float64 { return 100 * (t.idleAt/other.run(t.seed).idleAt - 1) }
}

// articleShape is 100,000 items in 1,000 tasks of 12 s, 8 workers first and 64 at most.
func articleShape() scalingShape {
	m := laneModel{
		config: scale.Config{Min: 8, Max: 64}, length: 3000, workers: 8, bulk: atOnce(1000), service: takes(12), untilIdle: true,
		needed: steadily(64),
	}
	than8 := longer(m, 8)
	return scalingShape{"article", "100,000 items, 8 to 64", m, []scalingFigure{
		figure("time to the end, worst", 240, " s", func(t laneTrace) float64 { return t.idleAt }),
		figure("time in terms of 8 fixed workers, worst", 16, "%", func(t laneTrace) float64 { return 100 + than8(t) }),
		figure("time over that of 64 from the first second, worst", 10, "%", longer(m, 64)),
		figure("reversals, worst", 5, "", reversals),
	}}
}
