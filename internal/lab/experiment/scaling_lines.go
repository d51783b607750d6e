package experiment

import (
	"slices"

	"github.com/weirhq/weir/internal/core/scale"
)

// scalingSeeds is the first of the seeds that judge. Constants were chosen on
// seeds from 1000 to 2100; judgements from 70000, 80000, 90000 and 110000 on led to
// changes, so that those seeds no longer judge.
const scalingSeeds = 130_000

// E13 puts the default policy under every load of the design: workers follow the
// load in seconds, do not flap, and do not grow into trouble.
func E13(size Size) []Line {
	var lines []Line
	for _, s := range append(scalingShapes(), coldShapes()...) {
		for i, got := range s.judge(scale.Decide, size) {
			f := s.figures[i]
			lines = append(lines, Line{
				Target: 14, What: s.name + ": " + f.what, Got: got, Want: f.want, AtLeast: f.atLeast, Unit: f.unit,
				Missed: f.missed, Holds: f.holds,
			})
		}
	}
	return slices.Concat(lines, coldLines(size), peakLines(seedsOf(size, 0)))
}

// seedsOf is how many seeds a model of such length is judged with.
func seedsOf(size Size, length float64) int {
	switch {
	case size == Whole:
		return 40
	case length >= 1800:
		return 3
	}
	return 6
}

// judge measures the figures of a shape under a policy.
func (s scalingShape) judge(p scale.Policy, size Size) []float64 {
	m := s.model
	m.policy = p
	measures := make([]func(laneTrace, uint64) float64, len(s.figures))
	for i, f := range s.figures {
		measures[i] = f.measure
	}
	out := make([]float64, len(s.figures))
	for i, found := range m.spread(scalingSeeds, seedsOf(size, m.length), measures...) {
		switch f := s.figures[i]; {
		case f.median:
			out[i] = found.median()
		case f.atLeast:
			out[i] = found[0]
		default:
			out[i] = found.worst()
		}
	}
	return out
}
