package experiment

import (
	"slices"

	"github.com/weirhq/weir/internal/core/scale"
)

// E13 puts the default policy under every load of the design: workers follow the
// load in seconds, do not flap, and do not grow into trouble.
func E13(size Size) (lines []Line) {
	for _, s := range append(scalingShapes(), coldShapes()...) {
		lines = append(lines, s.judge(scale.Decide, size)...)
	}
	return slices.Concat(lines, coldLines(size), peakLines(size))
}

// judge measures the figures of a shape under a policy.
func (s scalingShape) judge(p scale.Policy, size Size) []Line {
	m := s.model
	m.policy = p
	return over(scalingSeeds(size, m.length), func(seed uint64) (lines []Line) {
		t := m.run(seed)
		for _, f := range s.figures {
			f.What, f.Got = s.name+": "+f.What, f.measure(t)
			lines = append(lines, f.Line)
		}
		return lines
	})
}

// scalingSeeds returns the seeds that judge a model of such length. Constants were chosen on seeds
// from 1000 to 2100; judgements from 70000, 80000, 90000 and 110000 on led to changes, so
// that those seeds no longer judge.
func scalingSeeds(size Size, length float64) []uint64 {
	few := 6
	if length >= 1800 {
		few = 3
	}
	return seeds(firstScaling, sized(size, few, 40))
}

const firstScaling = 130_000
