package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/core/limit"
)

// ChainLine shows the chain and its limits.
func ChainLine(p term.Paint, steps []weir.Step) string {
	var parts []string
	for _, s := range steps {
		limits := fmt.Sprintf("batch %d", s.BatchSize)
		if s.Resource.Rate > 0 {
			if n := (limit.Size{Rate: float64(s.Resource.Rate), Full: s.Resource.Pacing == weir.PacingFull}).Items(s.BatchSize); n < s.BatchSize {
				limits += fmt.Sprintf(" cut to %d by the rate", n)
			}
			limits += ", ≤" + term.PerSecond(float64(s.Resource.Rate))
		}
		if s.Resource.Concurrency > 0 {
			limits += fmt.Sprintf(", ≤%d at once", s.Resource.Concurrency)
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", s.Name, limits))
	}
	return "  " + p.Dim("chain") + "     " + strings.Join(parts, " → ")
}

// Bottleneck says which limit determines the duration, and whose it is if not the resource's.
func Bottleneck(b *api.Bottleneck) string {
	text := strings.TrimSpace(b.Resource + " " + b.Value)
	switch b.Of {
	case "bulk_action":
		return text + ", a rule of its own"
	case "tenant":
		return text + ", a limit of its tenant"
	}
	return text
}

// ForecastLine returns the forecast as a line, in the format of weir run.
func ForecastLine(p term.Paint, f *api.Forecast) string {
	head := "  " + p.Dim("forecast") + "  "
	if f.NoEnd {
		return head + p.Yellow("no end: calls are failing now, so no item would be done")
	}
	text := head + "under 1s"
	if time.Duration(f.Takes.P90) >= time.Second {
		text = head + fmt.Sprintf("%s (p90 %s)", term.Span(time.Duration(f.Takes.P50)), term.Span(time.Duration(f.Takes.P90)))
	}
	calls := int64(0)
	for _, s := range f.Steps {
		calls += s.Calls
	}
	if calls > 0 {
		text += " · " + "about " + term.Plural(calls, "call", "calls")
	}
	if f.Bottleneck != nil && time.Duration(f.Takes.P90) >= time.Second {
		text += " · bottleneck " + Bottleneck(f.Bottleneck)
	}
	if guessed := slices.IndexFunc(f.Assumptions, func(a string) bool {
		return strings.HasPrefix(a, "No bulk action has called")
	}); guessed >= 0 &&
		f.Bottleneck != nil && f.Bottleneck.Kind != "rate" && time.Duration(f.Takes.P90) >= time.Second {
		text += " · " + strings.TrimSuffix(f.Assumptions[guessed], ".")
	}
	if f.Deadline != nil && !*f.Deadline {
		text += " · " + p.Yellow("the deadline will be missed")
	}
	if f.Finish == (api.Finish{}) {
		text += " · " + p.Yellow("counted from its start: it, or its tenant, is paused or stopped")
	}
	return text
}
