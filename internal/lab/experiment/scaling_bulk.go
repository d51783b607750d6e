package experiment

import (
	"math"

	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/lab/virtual"
)

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
		needed: steadily(float64(sumOf(sizes)) / 3600 * 0.1 / 0.8),
	}
	return scalingShape{"bulks", "bulks of 10 to 1,000 by chance, 1 h", m, []scalingFigure{
		{what: "reversals, worst", want: 30, measure: reversalsOf},
		{what: "slot wait p99, worst", unit: " s", want: 4, measure: wait99Of},
	}}
}
