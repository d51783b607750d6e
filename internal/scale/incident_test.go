package scale

import (
	"math"
	"slices"
	"testing"
)

// incident is a downstream that breaks from second 200 to 260: 50 ms become 5 s,
// and nearly half of the tasks fail.
func incident() model {
	return model{
		config: Config{Max: 400}, length: 500, workers: 8, rate: steady(100),
		service: func(t float64, _ int) (float64, float64) {
			if t >= 200 && t < 260 {
				return 5, 0.4
			}
			return 0.05, 0
		},
	}
}

func TestPoolDoesNotGrowIntoAnIncident(t *testing.T) {
	growth := func(x trace) float64 { return float64(slices.Max(x.workers[200:260])) / float64(x.workers[198]) }
	m := incident()
	// Without flow control the pool has only the few tasks that still end to go by:
	// with bad luck too few of the first twenty fail, so the median is the promise.
	med, _, dmed, _ := both(m, 40, growth)
	target(t, "incident, no flow control: growth factor, median", med[0], 1.0, dmed[0])
	m.strain = func(t float64) bool { return t >= 205 && t < 265 } // it takes some seconds to notice
	_, worst, _, dworst := both(m, 40, growth, turns)
	target(t, "incident 50 ms to 5 s: growth factor while it lasts, worst", worst[0], 1.0, dworst[0])
	target(t, "incident 50 ms to 5 s: reversals worst", worst[1], 5, dworst[1])
	// Afterwards the backlog of a minute is drained over H, so the wait ends soon.
	m.policy, m.seed = Decide, firstSeed
	x := m.run()
	if last := x.waits[len(x.waits)-1000:]; percentile(last, 0.99) > 0.1 {
		t.Errorf("slot wait p99 of the last thousand tasks = %.2f s, want the incident to be over", percentile(last, 0.99))
	}
}

// Failures that load did not cause must not stop growth; failures under strain must.
func TestErrorVetoAsksForTheCause(t *testing.T) {
	m := model{
		config: Config{Max: 400}, length: 500, workers: 32, rate: steady(50),
		service: func(t float64, _ int) (float64, float64) {
			if t >= 100 && t < 300 {
				return 2, 0.1
			}
			return 0.5, 0
		},
	}
	_, through, _, dworst := both(m, 10, waitP99)
	m.policy, m.strain = Decide, func(t float64) bool { return t >= 100 && t < 300 }
	growth := func(x trace) float64 { return float64(slices.Max(x.workers[110:290])) / float64(x.workers[98]) }
	_, held := spread(m, 10, waitP99, growth)
	target(t, "4x slower, 10 % errors, no strain: slot wait p99 worst s", through[0], 10, dworst[0])
	target(t, "4x slower, 10 % errors, strain: growth factor worst", held[1], 1.25, math.NaN())
	if held[0] < 5*through[0] {
		t.Errorf("slot wait p99 held %.1f s, through %.1f s: the cause makes no difference", held[0], through[0])
	}
}
