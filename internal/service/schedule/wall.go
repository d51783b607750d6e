package schedule

import "time"

// fate says how the clock changes of a zone affect a time of day.
type fate int

const (
	once    fate = iota // the clock shows it once, as on most days
	skipped             // the clock never shows it
	doubled             // the clock shows it twice
)

// wallOf returns the wall-clock time of a zone at a moment, written as if it were UTC: calendar
// arithmetic on it meets no clock change.
func wallOf(at time.Time, loc *time.Location) time.Time {
	_, offset := at.In(loc).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// momentOf returns the moment at which the clocks of a zone show wall, as [wallOf] writes it: the
// first of two, or the first moment after the gap if they never do. It never decreases as wall
// increases.
func momentOf(wall time.Time, loc *time.Location) (time.Time, fate) {
	guess := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), loc)
	start, end := guess.ZoneBounds()
	moments := make([]time.Time, 0, 3)
	for _, near := range []time.Time{start.Add(-1), guess, end} {
		_, offset := near.In(loc).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if wallOf(at, loc).Equal(wall) {
			moments = append(moments, at)
		}
	}
	if len(moments) == 0 {
		return gapEnd(wall, start, end, loc), skipped
	}
	first, what := moments[0], once
	for _, at := range moments[1:] {
		if !at.Equal(first) {
			what = doubled
		}
		if at.Before(first) {
			first = at
		}
	}
	return first.In(loc), what
}

// gapEnd returns which of two clock changes skips wall.
func gapEnd(wall, a, b time.Time, loc *time.Location) time.Time {
	if !a.IsZero() && wallOf(a.Add(-1), loc).Before(wall) && !wallOf(a, loc).Before(wall) {
		return a.In(loc)
	}
	return b.In(loc)
}
