package chart

import (
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Part is one part of a stack, with the class of its colour.
type Part struct {
	Class string
	Count int64
}

// Stack returns one bar that shows how parts make up a whole, in the order given. A part that is
// there at all is wide enough to be seen.
func Stack(class string, whole int64, parts ...Part) template.HTML {
	const least = 0.12 // per cent
	var b strings.Builder
	b.WriteString(`<svg class="` + template.HTMLEscapeString(class) + `" aria-hidden="true">`)
	at := 0.0
	for _, p := range parts {
		if p.Count <= 0 || whole <= 0 {
			continue
		}
		width := float64(p.Count) / float64(whole) * 100
		b.WriteString(`<rect class="` + template.HTMLEscapeString(p.Class) + `" x="` + decimals(at) + `%" width="` +
			decimals(max(width, least)) + `%" height="100%"/>`)
		at += width
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // all of it is escaped or a number
}

// Spark returns small columns for a list of counts, and says what they show.
func Spark(finding string, counts []int64) template.HTML {
	var most int64 = 1
	for _, n := range counts {
		most = max(most, n)
	}
	var b strings.Builder
	b.WriteString(`<svg class="spark" viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="` +
		template.HTMLEscapeString(finding) + `">`)
	step := 100 / float64(max(len(counts), 1))
	for i, n := range counts {
		if n <= 0 {
			continue
		}
		height := math.Ceil(float64(n) / float64(most) * 100)
		b.WriteString(`<rect x="` + decimals(float64(i)*step) + `" y="` + decimals(100-height) + `" width="` +
			decimals(step*0.7) + `" height="` + decimals(height) + `"/>`)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // all of it is escaped or a number
}

// Share returns a bar of what is used, with a tick at what is due.
func Share(used, due float64) template.HTML {
	return template.HTML(`<svg class="hbar" aria-hidden="true"><rect class="f-running" width="` + //nolint:gosec // numbers
		percent(used) + `%" height="100%"/><line class="tick" x1="` + percent(due) + `%" x2="` + percent(due) +
		`%" y1="0" y2="100%"/></svg>`)
}

func percent(part float64) string { return place(min(max(part, 0), 1) * 100) }

func decimals(v float64) string { return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64) }
