package term

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// JoinAnd joins at most two parts of a sentence.
func JoinAnd(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return words[0] + " and " + words[1]
}

// ClockTime writes a moment for people: all times are of one zone.
func ClockTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

// Unknown stands for a value that is not known or does not apply.
const Unknown = "—"

// Figure writes a number as exactly as it is worth.
func Figure(f *float64) string {
	switch {
	case f == nil:
		return Unknown
	case *f == 0:
		return "0"
	case *f < 9.95:
		return strconv.FormatFloat(*f, 'f', 1, 64)
	}
	return Number(int64(math.Round(*f)))
}

// Number writes 1234567 as 1,234,567.
func Number[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Span writes a time span as people say it: 640ms, 4.2s, 17s, 35m19s, 2h05m.
func Span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Clock writes a time span that is still growing.
func Clock(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return Span(d)
}

// PerSecond writes a speed, a small one with two digits that count.
func PerSecond(r float64) string {
	if r >= 10 || r == 0 {
		return Number(int64(r+0.5)) + "/s"
	}
	decimals := 1 - int(math.Floor(math.Log10(r)))
	text := strconv.FormatFloat(r, 'f', decimals, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "/s"
}

// Percent writes a part so that it only reads 100% when nothing is missing.
func Percent(part, whole int64) string {
	if whole == 0 {
		return "0%"
	}
	return strconv.FormatInt(part*100/whole, 10) + "%"
}

// Plural picks the form of a word.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// ExactPercent never rounds up to 100%.
func ExactPercent(part, whole int64) string {
	if part == whole {
		return "100%"
	}
	return fmt.Sprintf("%.2f%%", float64(part*10000/max(whole, 1))/100)
}
