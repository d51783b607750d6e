package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/report"
)

// forecast is the expected duration of a run, derived from its limits.
type forecast struct {
	p50, p90   time.Duration // 0: no limit is set, so it is not known
	bottleneck string
	slots      int
	calls      int64 // about how many
}

// predict goes by the rates alone: how fast an action answers is not known
// before it was asked. All items pass every step, and steps that share a
// resource share its rate; a tenth of the runs has a step that has to try again
// at the very end.
func predict(steps []weir.Step, items int64, slots int) forecast {
	return predictEach(steps, slices.Repeat([]int64{items}, len(steps)), slots)
}

// leftAt returns how many items have yet to pass each step.
func leftAt(p *weir.Progress) []int64 {
	before := p.Counts.Total - p.Counts.Ended() // what has not been counted at a step is before the first
	for _, s := range p.Steps {
		before -= s.Pending
	}
	left := make([]int64, len(p.Steps))
	for i, s := range p.Steps {
		before += s.Pending
		left[i] = before
	}
	return left
}

// predictEach is predict with the number of items for each step.
func predictEach(steps []weir.Step, items []int64, slots int) forecast {
	f := forecast{slots: callsAtATime(steps, slots)}
	demand := map[string]float64{}
	for i, s := range steps {
		size := int64(callSize(&s))
		f.calls += (items[i] + size - 1) / size
		if s.Resource.Rate == 0 {
			continue
		}
		demand[s.Resource.Name] += float64(items[i])
		took := time.Duration(demand[s.Resource.Name] / float64(s.Resource.Rate) * float64(time.Second))
		if took > f.p50 {
			f.p50 = took
			f.bottleneck = fmt.Sprintf("%s %s", s.Resource.Name, perSecond(float64(s.Resource.Rate)))
		}
	}
	if f.p50 == 0 {
		return f
	}
	f.p90 = f.p50 + f.p50/20
	for _, s := range steps {
		f.p90 += s.Retry.Base
	}
	return f
}

// callsAtATime returns how many calls the steps may have in flight. Steps that share a
// resource share its bound.
func callsAtATime(steps []weir.Step, slots int) int {
	most, seen := 0, map[string]bool{}
	for _, s := range steps {
		n := s.Resource.Concurrency
		if n == 0 {
			return slots
		}
		if !seen[s.Resource.Name] {
			seen[s.Resource.Name] = true
			most += n
		}
	}
	return min(slots, max(most, 1))
}

// line shows the forecast.
func (f forecast) line(p paint) string {
	head := "  " + p.dim("forecast") + "  "
	if f.p50 == 0 {
		return head + fmt.Sprintf("unlimited: as fast as the actions answer, %s at a time", plural(int64(f.slots), "call", "calls"))
	}
	if f.p90 < time.Second {
		return head + "under 1s · " + aboutCalls(f.calls) + " · bottleneck " + f.bottleneck
	}
	return head + fmt.Sprintf("%s (p90 %s) · %s · bottleneck %s", span(f.p50), span(f.p90), aboutCalls(f.calls), f.bottleneck)
}

// aboutCalls tells how many calls it will be.
func aboutCalls(n int64) string { return "about " + plural(n, "call", "calls") }

// compare says how far off the forecast was of what has run to its end.
func (f forecast) compare(sum *report.Summary, took time.Duration) string {
	if f.p50 < time.Second || took <= 0 || sum.State != weir.BulkCompleted.String() || sum.Reason != "" {
		return ""
	}
	return fmt.Sprintf(" (forecast %+.1f%%)", (took.Seconds()/f.p50.Seconds()-1)*100)
}
