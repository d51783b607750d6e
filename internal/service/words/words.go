// Package words writes counts and spans of time in the sentences that the API answers with. The command line and the
// pages show these sentences as they are.
package words

import (
	"strconv"
	"time"
)

// Count writes a whole number with commas: 999,412.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural writes a number and its noun.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Items writes a number of items: 1 item, 12,004 items.
func Items(n int64) string { return Plural(n, "item", "items") }

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// Span writes a span of time with two units at most, cut and not rounded: 45 s, 6 days 22 h, 3 years 40 days.
func Span(d time.Duration) string {
	large := func(unit time.Duration, one, many string, small time.Duration, oneSmall, manySmall string) string {
		text := Plural(int64(d/unit), one, many)
		if rest := d % unit / small; rest > 0 {
			text += " " + Plural(int64(rest), oneSmall, manySmall)
		}
		return text
	}
	switch {
	case d >= year:
		return large(year, "year", "years", day, "day", "days")
	case d >= day:
		return large(day, "day", "days", time.Hour, "h", "h")
	case d >= time.Hour:
		return large(time.Hour, "h", "h", time.Minute, "min", "min")
	case d >= time.Minute:
		return large(time.Minute, "min", "min", time.Second, "s", "s")
	}
	return Plural(int64(d/time.Second), "s", "s")
}
