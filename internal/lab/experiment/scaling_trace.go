package experiment

import (
	"math"
	"slices"

	"github.com/weirhq/weir/internal/lab/virtual"
)

// Point is one second of a lane.
type Point struct {
	Second int
	// Load is how many tasks arrived, Done how many ended well, Failed how many did not.
	Load, Done, Failed int
	// Backlog is how many tasks waited at the end of the second.
	Backlog int
	// Workers is what the policy decided, Needed what an all-knowing one would have.
	Workers int
	Needed  float64

	need float64 // as the policy sees it
}

// Lane is what happened on a lane, by second.
type Lane []Point

// Most returns the largest number of workers from one second to another.
func (l Lane) Most(from, to int) int {
	return slices.MaxFunc(l[from:to], func(a, b Point) int { return a.Workers - b.Workers }).Workers
}

// Least returns the smallest number of workers from one second to another.
func (l Lane) Least(from, to int) int {
	return slices.MinFunc(l[from:to], func(a, b Point) int { return a.Workers - b.Workers }).Workers
}

// Reversals counts changes of direction.
func (l Lane) Reversals() (n int) {
	last := 0
	for i := 1; i < len(l); i++ {
		dir := min(max(l[i].Workers-l[i-1].Workers, -1), 1)
		if dir != 0 && last != 0 && dir != last {
			n++
		}
		if dir != 0 {
			last = dir
		}
	}
	return n
}

// Reach returns how many seconds after from there were so many workers, or infinite.
func (l Lane) Reach(from int, workers float64) float64 {
	for i := from; i < len(l); i++ {
		if float64(l[i].Workers) >= workers {
			return float64(i + 1 - from)
		}
	}
	return math.Inf(1)
}

// Good returns how many tasks ended well, from one second to another.
func (l Lane) Good(from, to int) int { return l[from:to].sum(func(p Point) int { return p.Done }) }

func (l Lane) sum(of func(Point) int) (n int) {
	for _, p := range l {
		n += of(p)
	}
	return n
}

// failures returns the share of tasks that failed, in percent.
func (l Lane) failures() float64 {
	failed := l.sum(func(p Point) int { return p.Failed })
	return 100 * float64(failed) / float64(max(failed+l.Good(0, len(l)), 1))
}

// laneTrace is how a lane went with one seed.
type laneTrace struct {
	Lane
	seed     uint64
	waits    []float64 // for a worker, of every task that started
	waitedAt []float64 // when it started
	idleAt   float64   // when all work was done
}

// measure takes a figure of a lane.
type measure func(t laneTrace) float64

func reversals(t laneTrace) float64 { return float64(t.Reversals()) }

// wait99 returns the 99th percentile of the slot waits of all tasks.
func wait99(t laneTrace) float64 { return virtual.Quantile(t.waits, 0.99) }

// wait99Within returns the same for the tasks that started within a span.
func wait99Within(from, to float64) measure {
	return func(t laneTrace) float64 {
		var in []float64
		for i, at := range t.waitedAt {
			if at >= from && at < to {
				in = append(in, t.waits[i])
			}
		}
		return virtual.Quantile(in, 0.99)
	}
}

// reach is [Lane.Reach].
func reach(from int, workers float64) measure {
	return func(t laneTrace) float64 { return t.Reach(from, workers) }
}

// growth returns the largest number of workers decided after one second and before
// another, in terms of those decided in the first: that decision knows nothing yet
// of what begins there. What was decided at second n is at n-1.
func growth(from, to int) measure {
	return func(t laneTrace) float64 { return float64(t.Most(from, to-1)) / float64(t.Lane[from-1].Workers) }
}

// calm returns how many seconds after from no more than so many tasks wait, for good
// until the end of the trace, or infinite.
func calm(from, waiting int) measure {
	return func(t laneTrace) float64 {
		for i := len(t.Lane) - 1; i >= from; i-- {
			if t.Lane[i].Backlog > waiting {
				if i == len(t.Lane)-1 {
					return math.Inf(1)
				}
				return float64(i + 1 - from)
			}
		}
		return 0
	}
}

// rateAgain returns how many seconds after from as many tasks per second end well as
// rate says, on average over five seconds.
func rateAgain(from int, rate float64) measure {
	return func(t laneTrace) float64 {
		for i := from; i+5 <= len(t.Lane); i++ {
			if float64(t.Good(i, i+5)) >= 5*rate {
				return float64(i - from)
			}
		}
		return math.Inf(1)
	}
}
