package experiment

import (
	"fmt"
	"math"
	"slices"
)

// by says which figure stands for several runs.
type by int

const (
	byWorst by = iota
	byMean
	byMedian
)

func (b by) String() string { return [...]string{"worst", "mean", "median"}[b] }

// over plays something once for each of its settings or seeds, and makes one line of those that
// have the same place in all runs. A figure that is not a number was not taken in that run.
func over[T any](settings []T, play func(T) []Line) (lines []Line) {
	var all [][]Line
	for _, s := range settings {
		all = append(all, play(s))
	}
	for k, l := range all[0] {
		var got []float64
		for _, run := range all {
			if !math.IsNaN(run[k].Got) {
				got = append(got, run[k].Got)
			}
		}
		if got != nil {
			l.Got = l.of(got)
			lines = append(lines, l)
		}
	}
	return lines
}

// of returns the figure of several that stands for all.
func (l Line) of(got []float64) float64 {
	slices.Sort(got)
	switch {
	case l.by == byMedian:
		return got[len(got)/2]
	case l.by == byMean:
		return sum(got) / float64(len(got))
	case l.AtLeast:
		return got[0]
	}
	return got[len(got)-1]
}

// overSeeds is [over] seeds, and has each line say so.
func overSeeds(seeds []uint64, play func(seed uint64) []Line) []Line {
	lines := over(seeds, play)
	for i := range lines {
		if len(seeds) > 1 {
			lines[i].What += fmt.Sprintf(", %v of %d", lines[i].by, len(seeds))
		}
	}
	return lines
}

// seeds returns n numbers from first on.
func seeds(first uint64, n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = first + uint64(i)
	}
	return all
}

func sum[T int | int64 | float64](xs []T) (all T) {
	for _, x := range xs {
		all += x
	}
	return all
}
