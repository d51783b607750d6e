package series

import (
	"math"
	"time"
)

// Part is the part of a span of time that lies in one step: from one fraction of the span to another.
type Part struct {
	Step     int
	From, To float64
}

// Of returns the part's share of a count, if the count is divided evenly over the span: a whole
// number, so that the shares of all parts add up to the count.
func (p Part) Of(n float64) float64 { return math.Round(n*p.To) - math.Round(n*p.From) }

// Parts divides the time after from up to to by the steps of s, oldest first. Steps before the first
// are left out: the first has their part. The result has at least the step of to, which has all of a
// span that is empty.
func (s *Series) Parts(from, to time.Time) []Part {
	last := max(s.Index(to.Add(-1)), 0)
	if !from.Before(to) {
		return []Part{{last, 0, 1}}
	}
	span, done := float64(to.Sub(from)), 0.0
	var parts []Part
	for i := min(max(s.Index(from), 0), last); i <= last; i++ {
		end := 1.0
		if i < last {
			end = float64(s.At(i+1).Sub(from)) / span
		}
		parts = append(parts, Part{i, done, end})
		done = end
	}
	return parts
}
