package scale

import (
	"fmt"
	"strconv"
)

// Reason explains a decision. The set is closed: it labels metrics.
type Reason string

// The reasons. Those of growth and release come with a new number of workers, the others hold
// the present one.
const (
	Steady      Reason = "steady"       // the wish is near the present number
	Grew        Reason = "grew"         // confirmed need
	Cold        Reason = "cold"         // queue per worker, as run times are not known yet
	Trimmed     Reason = "trimmed"      // tasks wait for busy workers, whatever Little's law says
	Released    Reason = "released"     // the last minute did not need them
	Confirming  Reason = "confirming"   // more are wanted; one more cycle has to agree
	Cooling     Reason = "cooling"      // fewer are wanted; too soon after growth
	Watching    Reason = "watching"     // fewer are wanted; the last minute still needed them
	VetoErrors  Reason = "veto-errors"  // no growth into failures
	VetoStall   Reason = "veto-stall"   // no growth while running tasks do not end
	VetoSlow    Reason = "veto-slow"    // no growth until tasks with new run times are seen to end well
	VetoCPU     Reason = "veto-cpu"     // no growth on a full node
	VetoMemory  Reason = "veto-memory"  // no growth on a full node
	CutErrors   Reason = "cut-errors"   // too many failures
	CutCPU      Reason = "cut-cpu"      // a node close to exhaustion
	CutMemory   Reason = "cut-memory"   // a node close to exhaustion
	AtMin       Reason = "min"          // raised to the configured floor
	AtMax       Reason = "max"          // held or lowered by the configured ceiling
	AtReserve   Reason = "timetable"    // raised to the timetable's floor
	AtFloor     Reason = "learned"      // raised to what this hour usually needs
	Overridden  Reason = "override"     // set by an operator
	Paused      Reason = "paused"       // an operator paused scaling
	Backpressed Reason = "backpressure" // congestion control reduced the workers
)

// Reasons lists all reasons.
func Reasons() []Reason {
	return []Reason{
		Steady, Grew, Cold, Trimmed, Released, Confirming, Cooling, Watching,
		VetoErrors, VetoStall, VetoSlow, VetoCPU, VetoMemory, CutErrors, CutCPU, CutMemory,
		AtMin, AtMax, AtReserve, AtFloor, Overridden, Paused, Backpressed,
	}
}

// Decision is the number of workers a lane should have, and the reason.
type Decision struct {
	// Workers is the number to have from now on.
	Workers int
	// Reason is the rule that decided.
	Reason Reason
	// Text states the decision in one sentence with the numbers.
	Text string
	// Need is the number of workers that the load would keep busy at the target, and Useful the
	// most that could ever work at the usable rate and concurrency, 0 if nothing limits it.
	// Only [Decide] sets them. [History] learns from Need.
	Need, Useful float64
}

// decided returns a decision.
func decided(n int, why Reason, format string, args ...any) Decision {
	return Decision{Workers: n, Reason: why, Text: fmt.Sprintf(format, args...)}
}

// byHand applies the rules that bind every policy: the operator's override and pause first,
// then the bounds. ok is false if the policy itself has to decide.
func byHand(now int64, s Signals, c Config) (d Decision, ok bool) {
	n := s.Workers
	switch o := c.Override; {
	case o.Until > now:
		return decided(o.Workers, Overridden, "set to %d by hand for another %s: %s.", o.Workers, span(o.Until-now), orNone(o.Why)), true
	case c.Paused:
		return decided(n, Paused, "held at %d: autoscaling is paused.", n), true
	case n < s.most(c.Min):
		return decided(s.most(c.Min), AtMin, "raised from %d to %d, the minimum.", n, s.most(c.Min)), true
	case n > c.Max:
		return decided(c.Max, AtMax, "lowered from %d to the maximum of %d.", n, c.Max), true
	}
	return Decision{}, false
}

// steadyText avoids fmt: most decisions are steady, every second.
func steadyText(n int, wanted float64) string {
	b := append(make([]byte, 0, 48), "steady at "...)
	b = append(strconv.AppendInt(b, int64(n), 10), ": "...)
	b = strconv.AppendFloat(b, wanted, 'f', 1, 64)
	return string(append(b, " wanted."...))
}

func orNone(why string) string {
	if why == "" {
		return "no reason given"
	}
	return why
}

// number formats a number of workers with one digit after the point.
func number(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
