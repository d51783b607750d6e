// Package term draws on a terminal: colours, numbers as people write them, lines that fit, and a screen with a
// part that is drawn again and again.
//
// Text of others, such as names and error messages, goes through [Tame] before it is shown: a terminal would obey
// the control characters in it. The package knows nothing of weir.
package term

import (
	"strings"
)

// Paint colours text, or not.
type Paint bool

func (p Paint) sgr(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold makes text bold.
func (p Paint) Bold(s string) string { return p.sgr("1", s) }

// Dim makes text faint.
func (p Paint) Dim(s string) string { return p.sgr("2", s) }

// Red makes text red.
func (p Paint) Red(s string) string { return p.sgr("31", s) }

// Green makes text green.
func (p Paint) Green(s string) string { return p.sgr("32", s) }

// Yellow makes text yellow.
func (p Paint) Yellow(s string) string { return p.sgr("33", s) }

// Cyan makes text cyan.
func (p Paint) Cyan(s string) string { return p.sgr("36", s) }

// Pad makes s at least n characters wide.
func Pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-Width(s)))
}

// PadLeft makes s at least n characters wide, with its end at the right.
func PadLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-Width(s))) + s }

// Width counts what is seen: escape sequences take no room.
func Width(s string) int {
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

// Fit cuts a line to what fits in n characters.
func Fit(s string, n int) string {
	if Width(s) <= n {
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
