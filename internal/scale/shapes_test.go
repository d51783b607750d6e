package scale

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// firstSeed keeps clear of the seeds that constants were tried on.
const firstSeed = 20000

func steady(rate float64) func(float64) float64 { return func(float64) float64 { return rate } }

func takes(mean float64) func(float64, int) (float64, float64) {
	return func(float64, int) (float64, float64) { return mean, 0 }
}

// spread runs a model under n seeds and gives the median and the worst of what
// each measure finds in it.
func spread(m model, n int, measure ...func(trace) float64) (median, worst []float64) {
	found := make([][]float64, len(measure))
	for i := range n {
		m.seed = firstSeed + uint64(i)
		t := m.run()
		for j, f := range measure {
			found[j] = append(found[j], f(t))
		}
	}
	for _, xs := range found {
		slices.Sort(xs)
		median, worst = append(median, xs[len(xs)/2]), append(worst, xs[len(xs)-1])
	}
	return median, worst
}

// both runs a model under the default and under the depth policy.
func both(m model, n int, measure ...func(trace) float64) (median, worst, depthMedian, depthWorst []float64) {
	m.policy = Decide
	median, worst = spread(m, n, measure...)
	m.policy = framed(depth)
	depthMedian, depthWorst = spread(m, n, measure...)
	return median, worst, depthMedian, depthWorst
}

// target prints one line and fails if a figure is over its bound.
func target(t *testing.T, name string, got, bound, depth float64) {
	t.Helper()
	verdict := "ok  "
	if !(got <= bound) {
		verdict = "MISS"
		t.Errorf("%s = %.2f, want at most %.2f", name, got, bound)
	}
	fmt.Printf("%s %-58s %8.2f  target %8.2f  depth policy %8.2f\n", verdict, name, got, bound, depth)
}

func turns(t trace) float64   { return float64(t.reversals()) }
func waitP99(t trace) float64 { return percentile(t.waits, 0.99) }
func most(t trace) float64    { return float64(slices.Max(t.workers)) }
func paid(t trace) float64    { return t.busy }

// stepModel is 10 tasks/s, eight times that from second 200 to 400, then 10 again.
func stepModel() model {
	return model{
		config: Config{Max: 400}, length: 700, workers: 8, service: takes(0.5),
		rate: func(t float64) float64 {
			if t >= 200 && t < 400 {
				return 80
			}
			return 10
		},
	}
}

func TestLoadStepIsFollowed(t *testing.T) {
	m := stepModel()
	needed := 80 * 0.5 / 0.8
	reach := func(x trace) float64 { return x.reach(200, 0.9*needed) }
	over := func(x trace) float64 { return 100 * (most(x)/needed - 1) }
	med, worst, dmed, dworst := both(m, 40, reach, over, turns)
	target(t, "step 8x: 90 % of the workers, median s", med[0], 5, dmed[0])
	target(t, "step 8x: 90 % of the workers, worst s", worst[0], 15, dworst[0])
	target(t, "step 8x: overshoot median %", med[1], 15, dmed[1])
	target(t, "step 8x: overshoot worst %", worst[1], 35, dworst[1])
	target(t, "step 8x: reversals worst", worst[2], 5, dworst[2])
	m.startup = 5
	_, worst, _, dworst = both(m, 40, over)
	target(t, "step 8x, 5 s start-up: overshoot worst %", worst[0], 80, dworst[0])
}

func TestConstantLoadIsLeftAlone(t *testing.T) {
	m := model{config: Config{Max: 400}, length: 3600, workers: 8, service: takes(0.5), rate: steady(50)}
	_, worst, _, dworst := both(m, 5, turns, waitP99, paid)
	target(t, "constant 50/s, 1 h: reversals worst", worst[0], 2, dworst[0])
	// At 80 % busy the wait of this load is just about the goal, so the bound leaves room for chance.
	target(t, "constant 50/s, 1 h: slot wait p99 worst s (goal 0.10)", worst[1], 0.14, dworst[1])
	target(t, "constant 50/s, 1 h: worker-seconds over the law's, worst %", 100*(worst[2]/(3600*50*0.5/0.8)-1), 14, 100*(dworst[2]/(3600*50*0.5/0.8)-1))
}

func TestSlowWavesAreFollowed(t *testing.T) {
	m := model{config: Config{Max: 400}, length: 3600, workers: 32, service: takes(0.5), rate: func(t float64) float64 {
		return 50 * (1 + 0.6*math.Sin(2*math.Pi*t/600))
	}}
	_, worst, _, dworst := both(m, 5, turns)
	target(t, "sine +-60 %, 600 s, 1 h: reversals worst", worst[0], 13, dworst[0])
}

func TestOnOffLoadDoesNotFlap(t *testing.T) {
	m := model{config: Config{Max: 400}, length: 1200, workers: 8, service: takes(0.5), rate: func(t float64) float64 {
		if math.Mod(t, 40) < 10 {
			return 80
		}
		return 0
	}}
	_, worst, _, dworst := both(m, 20, turns)
	target(t, "on/off 10/30 s, 20 min: reversals worst", worst[0], 10, dworst[0])
}

func TestBurstAndRamp(t *testing.T) {
	m := model{config: Config{Max: 400}, length: 600, workers: 8, service: takes(0.5), rate: func(t float64) float64 {
		if t >= 200 && t < 205 {
			return 200
		}
		return 10
	}}
	_, worst, _, dworst := both(m, 20, turns)
	target(t, "burst 20x for 5 s: reversals worst", worst[0], 5, dworst[0])
	m.rate = func(t float64) float64 { return 10 + t/4 }
	_, worst, _, dworst = both(m, 20, turns, waitP99)
	target(t, "ramp 10 to 160/s: reversals worst", worst[0], 5, dworst[0])
	target(t, "ramp 10 to 160/s: slot wait p99 worst s", worst[1], 1, dworst[1])
}

func TestRateLimitedBacklogGetsNoIdleWorkers(t *testing.T) {
	m := model{config: Config{Max: 64}, length: 600, workers: 4, backlog: 50_000, limit: 20, service: takes(0.5), rate: steady(5)}
	useful := 20 * 0.5 / mostBusy
	_, worst, _, dworst := both(m, 20, func(x trace) float64 { return most(x) / useful })
	target(t, "rate-limited backlog: workers per useful worker, worst", worst[0], 1.5, dworst[0])
}

func TestHundredThousandItems(t *testing.T) {
	m := model{config: Config{Min: 8, Max: 64}, length: 3000, workers: 8, backlog: 1000, service: takes(12), rate: steady(0), untilIdle: true}
	_, worst, _, dworst := both(m, 40, func(x trace) float64 { return x.idleAt }, turns)
	target(t, "1,000 tasks x 12 s, 8 to 64: worst s", worst[0], 240, dworst[0])
	target(t, "1,000 tasks x 12 s, 8 to 64: reversals worst", worst[1], 5, dworst[1])
	fixed, _ := spread(withFixed(m), 5, func(x trace) float64 { return x.idleAt })
	target(t, "1,000 tasks x 12 s: % of the time with 8 fixed, worst", 100*worst[0]/fixed[0], 16, 100*dworst[0]/fixed[0])
}

// withFixed holds a model at the workers that it starts with.
func withFixed(m model) model {
	m.policy, m.config.Paused = Decide, true
	return m
}
