package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
)

// bench runs experiments and keeps the score.
type bench struct {
	ctx    context.Context
	dir    string
	repeat int
	plot   string // the file that flat is drawn into
	out    io.Writer
	missed int
}

// experiment measures one or more claims.
type experiment struct {
	name string
	run  func(*bench)
}

var experiments = []experiment{
	{"throughput", throughput},
	{"flat", flat},
	{"idle", idle},
	{"rate", rate},
	{"redis-rate", redisRate},
	{"redis-idle", redisIdle},
	{"redis-cost", redisCost},
	{"pacing", pacing},
	{"fairness", fairness},
	{"shares", shares},
	{"cancel", cancel},
	{"bytes", bytesPerItem},
	{"takeover", takeover},
	{"small", small},
	{"body", body},
	{"draft", appends},
	{"endpoint", endpoint},
	{"segment", segment},
	{"pages", pages},
	{"kept", kept},
}

// claim is one published figure. One of atLeast, atMost and none is set, or
// nothing for a figure that is only told.
type claim struct {
	key     string // of the figure that a measurement finds
	what    string
	unit    string
	atLeast float64
	atMost  float64
	none    bool // every measured value is 0
}

// told measures something n times and judges what it claims.
func (b *bench) told(n int, name string, p params, claims ...claim) {
	all := b.times(n, name, p)
	for _, c := range claims {
		b.judge(c, all[c.key]...)
	}
}

// judge prints a claim with its measured values. What was promised holds for every
// run, so the worst one counts: the smallest of "at least", the largest of "at most".
func (b *bench) judge(c claim, values ...float64) {
	slices.Sort(values)
	worst, target, ok := values[len(values)/2], "", true
	switch {
	case c.atLeast > 0:
		worst = values[0]
		target, ok = ">= "+number(c.atLeast), worst >= c.atLeast
	case c.atMost > 0:
		worst = values[len(values)-1]
		target, ok = "<= "+number(c.atMost), worst <= c.atMost
	case c.none:
		worst = values[len(values)-1]
		target, ok = "0", worst == 0
	}
	verdict := "ok  "
	switch {
	case target == "":
		verdict = "    "
	case !ok:
		verdict = "MISS"
		b.missed++
	}
	spread := ""
	if len(values) > 1 {
		spread = fmt.Sprintf("  (%s to %s of %d)", number(values[0]), number(values[len(values)-1]), len(values))
	}
	fmt.Fprintf(b.out, "%s %-62s %12s %-9s %-12s%s\n", verdict, c.what, number(worst), c.unit, target, spread)
}

// number writes three or four digits and thousands apart, as people read them.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000:
		return thousands(fmt.Sprintf("%.0f", v))
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func thousands(digits string) string {
	var parts []string
	for len(digits) > 3 {
		parts = append(parts, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	parts = append(parts, digits)
	slices.Reverse(parts)
	return strings.Join(parts, ",")
}

// machine says what it all was measured on, and how busy that was.
func (b *bench) machine() {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("unknown") // not every system tells
	}
	fmt.Fprintf(b.out, "     %s %s/%s, %d cores, load %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), strings.TrimSpace(string(load)))
}
