package experiment

import (
	"math"
	"slices"

	"github.com/weirhq/weir/internal/core/scale"
)

// scalingShape is a load and what is to be seen under it.
type scalingShape struct {
	key     string // short, for plots
	name    string
	model   laneModel
	figures []scalingFigure
}

// scalingFigure is one measure of a shape: the worst of all seeds, or their median.
type scalingFigure struct {
	what    string
	unit    string
	want    float64
	median  bool
	atLeast bool
	measure func(t laneTrace, seed uint64) float64
	missed  string // see [Line.Missed]
	holds   float64
}

func steadily(rate float64) func(float64) float64 { return func(float64) float64 { return rate } }

func takes(mean float64) func(float64, int) (float64, float64) {
	return func(float64, int) (float64, float64) { return mean, 0 }
}

// atOnce is so many tasks in the first second and none later.
func atOnce(tasks int) func(int) int {
	return func(second int) int {
		if second > 0 {
			return 0
		}
		return tasks
	}
}

func reversalsOf(t laneTrace, _ uint64) float64 { return t.reversals() }
func wait99Of(t laneTrace, _ uint64) float64    { return t.wait99() }

// scalingShapes are the loads of the design's table, in its order and with a few
// more, then what may go wrong.
func scalingShapes() []scalingShape {
	return slices.Concat(
		[]scalingShape{stepShape(), delayedShape(), constantShape(), sineShape(), onOffShape(), burstShape(), rampShape(),
			bulksShape(), limitedShape(), articleShape()},
		causeShapes(), incidentShapes(), nodeShapes(), leaderShapes(),
	)
}

const stepNeeds = 80 * 0.5 / 0.8 // workers at the target of 80 % busy

// following is a lane of tasks of half a second that arrive at a rate.
func following(rate func(t float64) float64, length float64) laneModel {
	return laneModel{
		config: scale.Config{Max: 400}, length: length, workers: 8, service: takes(0.5), rate: rate,
		needed: func(t float64) float64 { return rate(t) * 0.5 / 0.8 },
	}
}

// stepModel is 10 tasks/s, eight times that from second 200 to 400, then 10 again.
func stepModel() laneModel {
	return following(func(t float64) float64 {
		if t >= 200 && t < 400 {
			return 80
		}
		return 10
	}, 700)
}

func overStep(t laneTrace, _ uint64) float64 { return 100 * (t.most()/stepNeeds - 1) }

func stepShape() scalingShape {
	reach := func(t laneTrace, _ uint64) float64 { return t.reach(200, 0.9*stepNeeds) }
	return scalingShape{"step", "step 8x", stepModel(), []scalingFigure{
		{what: "90 % of the workers are there, median", unit: " s", want: 5, median: true, measure: reach},
		{what: "90 % of the workers are there, worst", unit: " s", want: 15, measure: reach},
		{what: "overshoot, median", unit: "%", want: 15, median: true, measure: overStep},
		{what: "overshoot, worst", unit: "%", want: 35, measure: overStep},
		{what: "reversals, worst", want: 5, measure: reversalsOf},
	}}
}

func delayedShape() scalingShape {
	m := stepModel()
	m.startup = 5
	return scalingShape{"late", "step 8x, workers start 5 s late", m, []scalingFigure{
		{what: "overshoot, worst", unit: "%", want: 80, measure: overStep},
	}}
}

func constantShape() scalingShape {
	const hour, need = 3600, 50 * 0.5 / 0.8
	return scalingShape{"constant", "constant 50/s, 1 h", following(steadily(50), hour), []scalingFigure{
		{what: "reversals, worst", want: 2, measure: reversalsOf},
		{what: "slot wait p99, worst", unit: " s", want: 0.1, measure: wait99Of},
		{what: "cost in worker-seconds over the law's, worst", unit: "%", want: 25, measure: func(t laneTrace, _ uint64) float64 {
			return 100 * (t.paid()/(hour*need) - 1)
		}},
	}}
}

func sineShape() scalingShape {
	m := following(func(t float64) float64 { return 50 * (1 + 0.6*math.Sin(2*math.Pi*t/600)) }, 3600)
	m.workers = 32
	return scalingShape{"sine", "sine +-60 %, 600 s, 1 h", m, []scalingFigure{
		{what: "reversals, worst", want: 13, measure: reversalsOf},
	}}
}

func onOffShape() scalingShape {
	m := following(func(t float64) float64 {
		if math.Mod(t, 40) < 10 {
			return 80
		}
		return 0
	}, 1200)
	return scalingShape{"on-off", "on/off 10/30 s, 20 min", m, []scalingFigure{
		{what: "reversals, worst", want: 10, measure: reversalsOf},
	}}
}

func burstShape() scalingShape {
	m := following(func(t float64) float64 {
		if t >= 200 && t < 205 {
			return 200
		}
		return 10
	}, 600)
	return scalingShape{"burst", "burst 20x for 5 s", m, []scalingFigure{
		{what: "reversals, worst", want: 5, measure: reversalsOf},
	}}
}

func rampShape() scalingShape {
	m := following(func(t float64) float64 { return 10 + t/4 }, 600)
	return scalingShape{"ramp", "ramp 10 to 160/s", m, []scalingFigure{
		{what: "reversals, worst", want: 5, measure: reversalsOf},
		{what: "slot wait p99, worst", unit: " s", want: 1, measure: wait99Of},
	}}
}

func limitedShape() scalingShape {
	const useful = 20 * 0.5 / 0.9
	m := laneModel{
		config: scale.Config{Max: 64}, length: 600, workers: 4, limit: 20, service: takes(0.5), rate: steadily(5),
		bulk: atOnce(50_000), needed: steadily(useful),
	}
	return scalingShape{"limited", "rate-limited backlog", m, []scalingFigure{
		{what: "workers per useful worker, worst", unit: "x", want: 1.5, measure: func(t laneTrace, _ uint64) float64 {
			return t.most() / useful
		}},
	}}
}

// articleModel is 100,000 items in 1,000 tasks of 12 s, 8 workers first and 64 at most.
func articleModel() laneModel {
	return laneModel{
		config: scale.Config{Min: 8, Max: 64}, length: 3000, workers: 8, bulk: atOnce(1000), service: takes(12), untilIdle: true,
		needed: steadily(64),
	}
}

// fixed holds a model at so many workers.
func fixed(m laneModel, workers int) laneModel {
	m.policy, m.workers, m.config.Paused = scale.Decide, workers, true
	return m
}

func articleShape() scalingShape {
	few, all := fixed(articleModel(), 8), fixed(articleModel(), 64)
	return scalingShape{"article", "100,000 items, 8 to 64", articleModel(), []scalingFigure{
		{what: "time to the end, worst", unit: " s", want: 240, measure: func(t laneTrace, _ uint64) float64 { return t.idleAt }},
		{what: "time in terms of 8 fixed workers, worst", unit: "%", want: 16, measure: func(t laneTrace, seed uint64) float64 {
			return 100 * t.idleAt / few.run(seed).idleAt
		}},
		{what: "time over that of 64 from the first second, worst", unit: "%", want: 10, measure: func(t laneTrace, seed uint64) float64 {
			return 100 * (t.idleAt/all.run(seed).idleAt - 1)
		}},
		{what: "reversals, worst", want: 5, measure: reversalsOf},
	}}
}
