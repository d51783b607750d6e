// Package series holds measured values at equal steps of time.
//
// A [Series] has one column per [Measure] and one value per step, or none: a value that was not
// measured is unknown, which is not 0. [Series.Coarser] makes longer steps, [Series.Merge] combines
// what several nodes measured, and [Life] follows something from its start to its end in a bounded
// number of points. [Series.Encode] is the stored format.
//
// The package is pure.
package series

import (
	"math"
	"time"
)

// Rule says how the values of a measure are combined.
type Rule uint8

const (
	// Count is what happened during a step. Counts are added, over time and over nodes.
	Count Rule = iota
	// Level is what was there during a step: the mean over time. One node measures it for all; of two
	// that do, the larger value holds.
	Level
	// Peak is the largest value, over time and over nodes.
	Peak
)

// Measure is one column.
type Measure struct {
	Name string
	Rule Rule
	// Quiet says that the measure is 0 for something that a node did not name while it measured.
	Quiet bool
}

// Unknown is the value of a step that was not measured.
func Unknown() float64 { return math.NaN() }

// Known reports whether a value was measured.
func Known(v float64) bool { return !math.IsNaN(v) }

// Series holds one column of values per measure. The steps begin at Start.
type Series struct {
	Measures []Measure
	Start    time.Time
	Step     time.Duration
	Columns  [][]float64
}

// New returns a series of n steps, all unknown.
func New(m []Measure, start time.Time, step time.Duration, n int) *Series {
	s := &Series{Measures: m, Start: start, Step: step, Columns: make([][]float64, len(m))}
	for c := range s.Columns {
		s.Columns[c] = make([]float64, n)
		for i := range s.Columns[c] {
			s.Columns[c][i] = Unknown()
		}
	}
	return s
}

// Len returns the number of steps.
func (s *Series) Len() int {
	if len(s.Columns) == 0 {
		return 0
	}
	return len(s.Columns[0])
}

// At returns when step i begins.
func (s *Series) At(i int) time.Time { return s.Start.Add(time.Duration(i) * s.Step) }

// Index returns the step that a time belongs to, which may lie outside of the series.
func (s *Series) Index(t time.Time) int { return int(floorDiv(int64(t.Sub(s.Start)), int64(s.Step))) }

// Known reports whether any measure of step i is known.
func (s *Series) Known(i int) bool {
	for _, col := range s.Columns {
		if Known(col[i]) {
			return true
		}
	}
	return false
}

// Sum adds up the known values of a column.
func (s *Series) Sum(column int) (sum float64) {
	for _, v := range s.Columns[column] {
		if Known(v) {
			sum += v
		}
	}
	return sum
}

// Extend adds unknown steps until there are n.
func (s *Series) Extend(n int) {
	for c := range s.Columns {
		for len(s.Columns[c]) < n {
			s.Columns[c] = append(s.Columns[c], Unknown())
		}
	}
}

// Add adds what happened or was there in a part of step i: it combines over time.
func (s *Series) Add(i int, values []float64) {
	for c, m := range s.Measures {
		s.Columns[c][i] = overTime(m.Rule, s.Columns[c][i], values[c])
	}
}

func overTime(r Rule, a, b float64) float64 {
	switch {
	case !Known(a):
		return b
	case !Known(b):
		return a
	case r == Count:
		return a + b
	case r == Level:
		return (a + b) / 2
	}
	return max(a, b)
}

// Merge adds what another node measured in the same steps. Steps outside of s are left out. Both
// have the same step, and begin at multiples of it.
func (s *Series) Merge(o *Series) {
	first := s.Index(o.Start)
	for c, m := range s.Measures {
		for i, v := range o.Columns[c] {
			if at := first + i; at >= 0 && at < len(s.Columns[c]) {
				s.Columns[c][at] = overNodes(m.Rule, s.Columns[c][at], v)
			}
		}
	}
}

func overNodes(r Rule, a, b float64) float64 {
	switch {
	case !Known(a):
		return b
	case !Known(b):
		return a
	case r == Count:
		return a + b
	}
	return max(a, b)
}

// Coarser returns the series in longer steps that begin at multiples of step. A step is known if
// any part of it is.
func (s *Series) Coarser(step time.Duration) *Series {
	if s.Len() == 0 {
		return New(s.Measures, s.Start.Truncate(step), step, 0)
	}
	start := s.Start.Truncate(step)
	out := New(s.Measures, start, step, 1+int(s.At(s.Len()-1).Sub(start)/step))
	for c, m := range s.Measures {
		for i := 0; i < s.Len(); {
			at := out.Index(s.At(i))
			end := i
			for end < s.Len() && out.Index(s.At(end)) == at {
				end++
			}
			out.Columns[c][at] = combine(m.Rule, s.Columns[c][i:end])
			i = end
		}
	}
	return out
}

// combine makes one value of those of several steps, each of which weighs the same.
func combine(r Rule, values []float64) float64 {
	sum, most, n := 0.0, math.Inf(-1), 0
	for _, v := range values {
		if Known(v) {
			sum, most, n = sum+v, max(most, v), n+1
		}
	}
	switch {
	case n == 0:
		return Unknown()
	case r == Count:
		return sum
	case r == Level:
		return sum / float64(n)
	}
	return most
}

// Quiet sets to 0 what is unknown of quiet measures in the steps in which the node measured at all,
// which whole tells: a node names only those that have something to tell.
func (s *Series) Quiet(whole *Series) {
	shift := s.Index(whole.Start)
	for c, m := range s.Measures {
		if !m.Quiet {
			continue
		}
		for i, v := range whole.Columns[c] {
			if at := shift + i; Known(v) && at >= 0 && at < s.Len() && !Known(s.Columns[c][at]) {
				s.Columns[c][at] = 0
			}
		}
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
