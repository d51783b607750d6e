package bulk

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/words"
)

const (
	// longRun is how long a step may take by a rate of the bulk action without a warning.
	longRun = 24 * time.Hour
	// slowRate is the rate in items per second below which there is a warning while the number of items is not known.
	slowRate = 1.0 / 60
	// fewPercent is the same for the percentage of a canary.
	fewPercent = 0.01
	// example is a number of items that says what a rate means while that of the bulk action is not known.
	example = 1000
)

// Warnings says what rules of a bulk action that has not ended lead to, where that is probably not meant: a rate at which its
// items take days, and a canary that is less than an item.
func Warnings(b *api.BulkAction) (list []string) {
	if b.State.Final() {
		return nil
	}
	total := b.Counts.Total
	left := total - b.Counts.Done - b.Counts.Failed - b.Counts.Cancelled
	for _, st := range b.Steps {
		step := cmp.Or(st.ID, st.Action)
		if rate := float64(b.Rates[step]); rate > 0 {
			if text := slow(rate, left, total > 0); text != "" {
				list = append(list, fmt.Sprintf("Rate of %s, %v: %s.", step, b.Rates[step], text))
			}
		}
	}
	if c := b.Canary; c != nil && c.Items == 0 && c.Percent > 0 {
		percent := strconv.FormatFloat(c.Percent, 'f', -1, 64) + " %"
		switch {
		case total > 0 && c.Percent/100*float64(total) < 1:
			list = append(list, fmt.Sprintf("Canary of %s: less than 1 of %s. It has 1, the least, which says little about the rest.", percent, words.Items(total)))
		case total == 0 && c.Percent < fewPercent:
			list = append(list, fmt.Sprintf("Canary of %s: 1 of %s.", percent, words.Items(clamped(100/c.Percent))))
		}
	}
	return list
}

// slow says how long items take at a rate, if that is long.
func slow(rate float64, items int64, known bool) string {
	every := "1 per " + words.Count(clamped(1/rate)) + " s"
	if rate >= 1 {
		every = strconv.FormatFloat(rate, 'f', -1, 64) + " per second"
	}
	takes := func(n int64) time.Duration { return time.Duration(clamped(float64(n) / rate * float64(time.Second))) }
	switch {
	case known && takes(items) >= longRun:
		return words.Items(items) + " at " + every + " take " + words.Span(takes(items))
	case !known && rate < slowRate:
		return words.Items(example) + " at " + every + " would take " + words.Span(takes(example))
	}
	return ""
}

// clamped rounds a number that may be larger than an int64.
func clamped(f float64) int64 {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(math.Round(f))
}
