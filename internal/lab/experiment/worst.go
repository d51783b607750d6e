package experiment

import (
	"fmt"
	"slices"
)

// worst runs an experiment with several seeds and keeps, of each line, the seed that
// did worst.
func worst(seeds []uint64, run func(seed uint64) []Line) []Line { return worstOf(each(seeds, run)) }

func each(seeds []uint64, run func(seed uint64) []Line) (all [][]Line) {
	for _, seed := range seeds {
		all = append(all, run(seed))
	}
	return all
}

func worstOf(all [][]Line) []Line {
	kept := slices.Clone(all[0])
	for k := range kept {
		for _, lines := range all[1:] {
			if kept[k].within(lines[k].Got) { // what is kept is at least as good as this
				kept[k].Got = lines[k].Got
			}
		}
		if len(all) > 1 {
			kept[k].What += fmt.Sprintf(", worst of %d", len(all))
		}
	}
	return kept
}

// medianOf is line k in the middle of all seeds.
func medianOf(all [][]Line, k int) Line {
	l, got := all[0][k], make([]float64, len(all))
	for i, lines := range all {
		got[i] = lines[k].Got
	}
	slices.Sort(got)
	l.Got = got[len(got)/2]
	l.What += fmt.Sprintf(", median of %d", len(all))
	return l
}

// seeds are n numbers from first on.
func seeds(first uint64, n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = first + uint64(i)
	}
	return all
}
