package experiment

import (
	"math"
	"slices"

	"github.com/weirhq/weir/internal/lab/virtual"
)

// reversals counts changes of direction.
func (t laneTrace) reversals() float64 {
	n, last := 0, 0
	for i := 1; i < len(t.workers); i++ {
		dir := min(max(t.workers[i]-t.workers[i-1], -1), 1)
		if dir != 0 && last != 0 && dir != last {
			n++
		}
		if dir != 0 {
			last = dir
		}
	}
	return float64(n)
}

// reach is how many seconds after from there were so many workers, or infinite.
func (t laneTrace) reach(from int, workers float64) float64 {
	for i := from; i < len(t.workers); i++ {
		if float64(t.workers[i]) >= workers {
			return float64(i + 1 - from)
		}
	}
	return math.Inf(1)
}

// most is the largest number of workers.
func (t laneTrace) most() float64 { return float64(slices.Max(t.workers)) }

// wait99 is the 99th percentile of the slot waits of all tasks.
func (t laneTrace) wait99() float64 { return virtual.Quantile(t.waits, 0.99) }

// wait99Within is the same for the tasks that started within a span.
func (t laneTrace) wait99Within(from, to float64) float64 {
	var in []float64
	for i, at := range t.waitedAt {
		if at >= from && at < to {
			in = append(in, t.waits[i])
		}
	}
	return virtual.Quantile(in, 0.99)
}

// paid is the worker-seconds that were held ready.
func (t laneTrace) paid() float64 { return float64(sumOf(t.workers)) }

// growth is the largest number of workers decided after one second and before
// another, in terms of those decided in the first: that decision knows nothing yet
// of what begins there. What was decided at second n is at n-1.
func (t laneTrace) growth(from, to int) float64 {
	return float64(slices.Max(t.workers[from:to-1])) / float64(t.workers[from-1])
}

// calm is how many seconds after from no more than so many tasks wait, for good
// until the end of the trace, or infinite.
func (t laneTrace) calm(from, waiting int) float64 {
	for i := len(t.backlogs) - 1; i >= from; i-- {
		if t.backlogs[i] > waiting {
			if i == len(t.backlogs)-1 {
				return math.Inf(1)
			}
			return float64(i + 1 - from)
		}
	}
	return 0
}

// rateAgain is how many seconds after from as many tasks per second end well as
// rate says, on average over five seconds.
func (t laneTrace) rateAgain(from int, rate float64) float64 {
	for i := from; i+5 <= len(t.done); i++ {
		if float64(sumOf(t.done[i:i+5])) >= 5*rate {
			return float64(i - from)
		}
	}
	return math.Inf(1)
}

func sumOf(xs []int) int {
	n := 0
	for _, x := range xs {
		n += x
	}
	return n
}

// laneFigures is what a measure found under several seeds, in order.
type laneFigures []float64

func (f laneFigures) median() float64 { return f[len(f)/2] }
func (f laneFigures) worst() float64  { return f[len(f)-1] }

// spread plays a model under n seeds from first on and takes its measures.
func (m laneModel) spread(first uint64, n int, measures ...func(laneTrace, uint64) float64) []laneFigures {
	out := make([]laneFigures, len(measures))
	for i := range n {
		seed := first + uint64(i)
		t := m.run(seed)
		for j, f := range measures {
			out[j] = append(out[j], f(t, seed))
		}
	}
	for _, f := range out {
		slices.Sort(f)
	}
	return out
}
