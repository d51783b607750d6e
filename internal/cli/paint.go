package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// paint colours text, or not.
type paint bool

func (p paint) sgr(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string   { return p.sgr("1", s) }
func (p paint) dim(s string) string    { return p.sgr("2", s) }
func (p paint) red(s string) string    { return p.sgr("31", s) }
func (p paint) green(s string) string  { return p.sgr("32", s) }
func (p paint) yellow(s string) string { return p.sgr("33", s) }
func (p paint) cyan(s string) string   { return p.sgr("36", s) }

// number writes 1234567 as 1,234,567.
func number[T int | int64](n T) string {
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

// span writes a time span as people say it: 640ms, 4.2s, 17s, 35m19s, 2h05m.
func span(d time.Duration) string {
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

// clock writes a time span that is still growing.
func clock(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return span(d)
}

// perSecond writes a speed.
func perSecond(r float64) string {
	if r >= 10 || r == 0 {
		return number(int64(r+0.5)) + "/s"
	}
	return strconv.FormatFloat(r, 'g', 2, 64) + "/s"
}

// percent writes a part so that it only reads 100% when nothing is missing.
func percent(part, whole int64) string {
	if whole == 0 {
		return "0%"
	}
	return strconv.FormatInt(part*100/whole, 10) + "%"
}

// plural picks the form of a word.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// pad makes s at least n characters wide.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-width(s)))
}

// padLeft makes s at least n characters wide, with its end at the right.
func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-width(s))) + s }

// width counts what is seen: escape sequences take no room.
func width(s string) int {
	n, escape := 0, false
	for _, r := range s {
		switch {
		case escape:
			escape = r != 'm'
		case r == '\x1b':
			escape = true
		default:
			n++
		}
	}
	return n
}

// fit cuts a line to what fits in n characters.
func fit(s string, n int) string {
	if width(s) <= n {
		return s
	}
	seen, escape := 0, false
	for i, r := range s {
		switch {
		case escape:
			escape = r != 'm'
		case r == '\x1b':
			escape = true
		case seen == n-1:
			return s[:i] + "…\x1b[0m"
		default:
			seen++
		}
	}
	return s
}
