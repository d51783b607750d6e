package experiment

import (
	"math"
	"math/rand/v2"

	"github.com/weirhq/weir/internal/core/scale"
)

// bulksShape is bulks by chance: one in five seconds brings 10 to 1,000 tasks at once.
func bulksShape() scalingShape {
	rng := rand.New(rand.NewPCG(5, 8))
	sizes := make([]int, 3600)
	for i := range sizes {
		if size := math.Pow(10, 1+2*rng.Float64()); rng.Float64() < 0.2 {
			sizes[i] = int(size)
		}
	}
	m := laneModel{
		config: scale.Config{Max: 64}, length: 3600, workers: 8, service: takes(0.1), bulk: func(second int) int { return sizes[second] },
		needed: steadily(float64(sumOf(sizes)) / 3600 * 0.1 / 0.8),
	}
	return scalingShape{"bulks", "bulks of 10 to 1,000 by chance, 1 h", m, []scalingFigure{
		{what: "reversals, worst", want: 30, measure: reversalsOf},
		{what: "slot wait p99, worst", unit: " s", want: 4, measure: wait99Of},
	}}
}

// Bulk is how long a lane takes for tasks that arrive at once.
type Bulk struct {
	// Tasks of so many Seconds each.
	Tasks   int
	Seconds float64
	// Fresh is the time to the end on a lane that was never seen, Known on one whose
	// run times are known and that has nothing else to do.
	Fresh, Known float64
	// Fixed8 and Fixed64 are the same with so many workers from the first second.
	Fixed8, Fixed64 float64
}

// Bulks measures bulks of 100 to 10,000 tasks of 10 ms to 1 s under a policy,
// with 8 workers first and 64 at most.
func Bulks(policy string) ([]Bulk, error) {
	p, err := scale.ByName(policy)
	if err != nil {
		return nil, err
	}
	var out []Bulk
	for _, seconds := range []float64{0.01, 0.1, 1} {
		for _, tasks := range []int{100, 1000, 10_000} {
			out = append(out, bulkOf(p, tasks, seconds))
		}
	}
	return out, nil
}

func bulkOf(p scale.Policy, tasks int, seconds float64) Bulk {
	const seed, begin = scalingSeeds, 100
	m := laneModel{
		policy: p, config: scale.Config{Min: 8, Max: 64}, length: 5000, workers: 8,
		bulk: atOnce(tasks), service: takes(seconds), untilIdle: true,
	}
	b := Bulk{Tasks: tasks, Seconds: seconds, Fresh: m.run(seed).idleAt, Fixed8: fixed(m, 8).run(seed).idleAt, Fixed64: fixed(m, 64).run(seed).idleAt}
	m.notBefore = begin
	m.bulk = func(second int) int { // a few tasks first, from which the run time is known
		switch second {
		case 0:
			return 20
		case begin:
			return tasks
		}
		return 0
	}
	b.Known = m.run(seed).idleAt - begin
	return b
}
