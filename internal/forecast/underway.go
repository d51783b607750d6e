package forecast

import (
	"cmp"
	"time"

	"github.com/weirhq/weir"
)

// tellingItems is how many items of a bulk action tell more of its steps than what
// others did at the same resources.
const tellingItems = 200

// Underway adds to work how far it is: what stands where, and what its own items have
// shown of its steps.
func Underway(w *Work, load *Load, p *weir.Progress) {
	if len(p.Steps) != len(w.Steps) || p.Counts.Total == p.Counts.Ended() {
		return
	}
	w.Items = p.Counts.Total - p.Counts.Ended()
	w.Standing, w.Flying = make([]int64, len(w.Steps)), make([]int64, len(w.Steps))
	services := time.Duration(0)
	for i := range w.Steps {
		r := load.resource(w.Steps[i].Resource)
		showed(r, &p.Steps[i], w.Steps[i].Conditional)
		services += cmp.Or(r.Service, time.Second)
	}
	skipped := 0.0 // of what stands at a step whose condition has not been looked at
	gone := 0.0    // the same that ends there
	for i := range w.Steps {
		st, c := &w.Steps[i], &p.Steps[i]
		r := load.resource(st.Resource)
		if skips, leftOut := Uncalled(c, r.Rate, st.Batch); st.Conditional && skips+leftOut > 0 {
			st.Skips, st.LeftOut = skips, leftOut
		}
		calls := float64(cmp.Or(r.Service, time.Second)) / float64(services)
		w.Flying[i] = min(int64(float64(p.Counts.InFlight)*calls), c.Pending)
		stands := max(Standing(p, i)-w.Flying[i], 0)
		seen := min(stands, roomOf(r.Rate, st.Batch))
		unseen := skipped + float64(stands-seen)
		skipped = unseen * st.Skips
		gone += unseen * st.LeftOut
		w.Standing[i] = seen + int64(unseen*(1-st.Skips-st.LeftOut))
	}
	w.Items = max(w.Items-int64(skipped+gone), total(w.Standing)+total(w.Flying), 1)
}

func total(list []int64) (sum int64) {
	for _, n := range list {
		sum += n
	}
	return sum
}

// Standing is how many items have come to a step. At the first step of all they are
// the ones that have not begun.
func Standing(p *weir.Progress, i int) int64 {
	if i == 0 {
		return 0
	}
	return p.Steps[i].Pending
}

// showed puts what a bulk action's own items met at a step in the place of what those of others did.
func showed(r *Resource, c *weir.StepCounts, conditional bool) {
	if c.Attempts < tellingItems {
		return
	}
	gone := c.Failed
	if !conditional {
		gone += c.LeftOut
	}
	r.Retries = max(float64(c.Retries)/float64(c.Attempts)-r.Failures, 0)
	r.Rejects = float64(gone) / float64(c.Attempts)
}

// Uncalled is the share of items that passed a step without a call, and that ended
// there without one, among those that its condition was looked at for.
func Uncalled(c *weir.StepCounts, rate weir.Rate, batch int) (skips, leftOut float64) {
	looked := c.Done + c.Failed + c.LeftOut + min(c.Pending, roomOf(rate, batch))
	if looked < tellingItems {
		return 0, 0
	}
	return float64(c.Skipped) / float64(looked), float64(c.LeftOut) / float64(looked)
}

// roomOf is how far the condition of a step is looked at ahead of its calls, as a
// partition does it.
func roomOf(rate weir.Rate, batch int) int64 {
	if rate > 0 {
		return max(int64(2*rate), int64(4*batch))
	}
	return int64(64 * batch)
}
