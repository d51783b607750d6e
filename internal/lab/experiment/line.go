package experiment

import (
	"fmt"
	"math"
	"strconv"
)

// Line is one target and what was measured.
type Line struct {
	// Target is the row of the table of targets that it belongs to.
	Target int
	// What names the measure in a few words, with the setting that matters.
	What string
	// Got is the figure, and Want what it is to be: at most, or with AtLeast set at least.
	Got, Want float64
	AtLeast   bool
	// Unit is written behind both: %, s, x, or nothing.
	Unit string
	// Missed says why a target is known not to be reached. Holds is then the bound
	// that does hold and that the tests demand instead.
	Missed string
	Holds  float64
	// Timed figures were taken with a clock or of memory: another machine has others.
	Timed bool

	by by
}

// atMost returns a line whose figure is to be at most so much.
func atMost(target int, what string, got, want float64, unit string) Line {
	return Line{Target: target, What: what, Got: got, Want: want, Unit: unit}
}

// atLeast returns a line whose figure is to be at least so much.
func atLeast(target int, what string, got, want float64, unit string) Line {
	return Line{Target: target, What: what, Got: got, Want: want, Unit: unit, AtLeast: true}
}

// peakLine returns the line that every experiment with a rate has: the fullest second, as a part of the rate.
func peakLine(what string, most float64) Line {
	return atMost(2, "peak of any second, "+what, most, 1, " C")
}

// useLine returns the line about the part of a rate that was used.
func useLine(what string, part float64) Line { return atLeast(3, what, 100*part, 99, " %") }

// missed returns l with the reason why its target is known to be missed, and the bound that holds.
func (l Line) missed(why string, holds float64) Line {
	l.Missed, l.Holds = why, holds
	return l
}

// timed returns l as a figure of the machine.
func (l Line) timed() Line {
	l.Timed = true
	return l
}

// taken returns l with another way to take several runs together.
func (l Line) taken(by by) Line {
	l.by = by
	return l
}

// OK reports whether the target is reached.
func (l Line) OK() bool { return l.within(l.Want) }

// Stands reports whether the line is as good as is known: it reaches its target,
// or else the bound that it was seen to keep.
func (l Line) Stands() bool { return l.OK() || l.Missed != "" && l.within(l.Holds) }

func (l Line) within(bound float64) bool {
	if l.AtLeast {
		return l.Got >= bound
	}
	return l.Got <= bound
}

// String returns the line as it is printed.
func (l Line) String() string {
	seen, want, verdict := l.Cells("<=", ">=", "ok", "MISSED")
	return fmt.Sprintf("#%-2d %-62s %s %s  %s", l.Target, l.What, seen, want, verdict)
}

// Cells writes the figure, its target and the verdict with signs and words of the caller.
func (l Line) Cells(atMost, atLeast, reached, missed string) (seen, want, verdict string) {
	sign, verdict := atMost, reached
	if l.AtLeast {
		sign = atLeast
	}
	if !l.OK() {
		verdict = missed
		if l.Missed != "" {
			verdict += ": " + l.Missed
		}
	}
	return number(l.Got) + l.Unit, sign + " " + number(l.Want) + l.Unit, verdict
}

// number writes a figure with four significant digits, or as a whole number from a
// thousand on.
func number(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Size says how much of an experiment is run.
type Size int

// The sizes.
const (
	Small Size = iota // seconds of one core for all: what the tests run
	Whole             // all seeds, all tenants: what is published
)

// sized returns the first of two for an experiment that is run small, else the second.
func sized[T any](s Size, small, whole T) T {
	if s == Small {
		return small
	}
	return whole
}

// Experiment is one of the experiments of the design.
type Experiment struct {
	ID   string // E1 to E22
	Name string // what it shows, in a few words
	Run  func(Size) []Line
	// Real experiments measure the machine as well, in real time. They want it quiet,
	// so they run when asked for by name only, and their figures carry a date.
	Real bool
}
