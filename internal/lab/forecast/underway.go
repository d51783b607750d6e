package forecast

import (
	"cmp"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/chain"
)

const (
	// tellingItems is how many items of a bulk action tell more of its steps than what
	// others did at the same resources, or a look at its data.
	tellingItems = 200
	// fewItems is how many tell more than nothing.
	fewItems = 30
)

// Underway adds to work how far it is at now: what stands where, and what its own items
// have shown of its steps.
func Underway(w *Work, load *Load, p *weir.Progress, now time.Time) {
	if len(p.Steps) != len(w.Steps) || p.Counts.Total == p.Counts.Ended() {
		return
	}
	w.Items = p.Counts.Total - p.Counts.Ended()
	for i := range w.Steps {
		showed(load.resource(w.Steps[i].Resource), &p.Steps[i], w.Steps[i].Conditional)
	}
	w.divide(load, p, now)
	w.Standing = make([]int64, len(w.Steps))
	skipped := 0.0 // of what stands at a step whose condition has not been looked at
	gone := 0.0    // the same that ends there
	for i := range w.Steps {
		st, c := &w.Steps[i], &p.Steps[i]
		r := load.resource(st.Resource)
		least := int64(fewItems)
		if st.Looked > 0 {
			least = tellingItems
		}
		if skips, leftOut := uncalled(c, r.Rate, st.Batch, least); st.Conditional && skips+leftOut > 0 {
			st.Skips, st.LeftOut, st.Looked = skips, leftOut, 0
		}
		stands := max(Standing(p, i)-w.Flying[i]-w.Waiting[i], 0)
		seen := min(stands, roomOf(r.Rate, st.Batch))
		unseen := skipped + float64(stands-seen)
		skipped = unseen * st.Skips
		gone += unseen * st.LeftOut
		w.Standing[i] = seen + int64(unseen*(1-st.Skips-st.LeftOut))
	}
	w.Items = max(w.Items-int64(skipped+gone), total(w.Standing)+total(w.Flying)+total(w.Waiting), 1)
}

// divide tells which steps the items in flight and those that wait are at: as long as
// calls of a step take, and as many as are tried again there.
func (w *Work) divide(load *Load, p *weir.Progress, now time.Time) {
	calls, again, room := make([]float64, len(w.Steps)), make([]float64, len(w.Steps)), make([]int64, len(w.Steps))
	for i := range w.Steps {
		r := load.resource(w.Steps[i].Resource)
		calls[i] = cmp.Or(r.Service, time.Second).Seconds()
		again[i] = r.Retries + r.Failures + 1e-3
		room[i] = p.Steps[i].Pending
	}
	w.Waiting = divided(p.Counts.Waiting, again, room)
	for i, n := range w.Waiting {
		room[i] -= n
	}
	w.Flying = divided(p.Counts.InFlight, calls, room)
	if total(w.Waiting) > 0 {
		w.Due = max(p.Due.Sub(now), 0)
	}
}

// divided divides n by weights, to each no more than there is room.
func divided(n int64, weights []float64, room []int64) []int64 {
	out := make([]int64, len(weights))
	for n > 0 {
		sum := 0.0
		for i, w := range weights {
			if out[i] < room[i] {
				sum += w
			}
		}
		if sum == 0 {
			break // there is less room than was counted a moment before
		}
		left := n
		for i, w := range weights {
			if out[i] < room[i] {
				x := min(max(int64(float64(left)*w/sum), 1), room[i]-out[i], n)
				out[i], n = out[i]+x, n-x
			}
		}
	}
	return out
}

func total(list []int64) (sum int64) {
	for _, n := range list {
		sum += n
	}
	return sum
}

// Standing returns how many items have come to a step. At the first step of all they are
// the ones that have not begun.
func Standing(p *weir.Progress, i int) int64 {
	if i == 0 {
		return 0
	}
	return p.Steps[i].Pending
}

// showed has what a bulk action's own items met at a step count beside what all items
// met there: the more they are, the more.
func showed(r *Resource, c *weir.StepCounts, conditional bool) {
	gone := c.Failed
	if !conditional {
		gone += c.LeftOut
	}
	own := func(n int64, before float64) float64 {
		return (float64(n) + tellingItems*before) / (float64(c.Attempts) + tellingItems)
	}
	r.Retries = max(own(c.Retries, r.Retries+r.Failures)-r.Failures, 0)
	r.Rejects = own(gone, r.Rejects)
}

// Uncalled returns the share of items that passed a step without a call, and that ended
// there without one, among those that its condition was looked at for.
func Uncalled(c *weir.StepCounts, rate weir.Rate, batch int) (skips, leftOut float64) {
	return uncalled(c, rate, batch, fewItems)
}

// uncalled tells nothing of fewer items than the least.
func uncalled(c *weir.StepCounts, rate weir.Rate, batch int, least int64) (skips, leftOut float64) {
	looked := c.Done + c.Failed + c.LeftOut + min(c.Pending, roomOf(rate, batch))
	if looked < least {
		return 0, 0
	}
	return float64(c.Skipped) / float64(looked), float64(c.LeftOut) / float64(looked)
}

// roomOf returns how far the condition of a step is looked at ahead of its calls.
func roomOf(rate weir.Rate, batch int) int64 { return chain.Room(float64(rate), batch, batch) }
