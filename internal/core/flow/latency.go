package flow

import (
	"fmt"
	"math"
	"time"
)

const (
	watchSpan    = int64(time.Second)
	watchSamples = 50
	warmWindows  = 10  // windows before the usual run time is known
	longMemory   = 600 // windows

	// shortest is the run time below which slowness is ignored: scheduling noise outweighs the
	// downstream there.
	shortest = float64(10 * time.Millisecond)
	// slowness and fine are multiples of the usual run time: above slowness a window is slow,
	// below fine it is not.
	slowness, fine = 2.0, 1.5
	slowWindows    = 3

	// lookEvery is how often fewer tasks are tried without a cause, give or take a tenth: a
	// downstream that was slow from the start is never slower than usual.
	lookEvery = int64(10 * time.Minute)
	firstWait = int64(30 * time.Second)
	// worth is the number of tasks in flight below which a trial is not worthwhile.
	worth = 8
)

// LatencyState describes a bound on the tasks in flight for display.
type LatencyState struct {
	// Bound is the maximum number of tasks in flight, 0 for no bound.
	Bound  int
	Reason Reason
	// Text gives the reason in one sentence with the numbers.
	Text string
}

// Latency bounds a node's tasks in flight on a resource by their run times.
//
// It starts without a bound. Run times that double suggest too many tasks in flight, but do not
// prove it: downstreams are slow for many reasons. So every step down is a trial, and stays
// only if fewer in flight get as much done (at least nine tenths) in a shorter time each. If
// not, the tasks in flight were useful: the bound goes back, the run time counts as usual from
// then on, and the next trial waits, each time longer. Raising the bound needs no trial: while
// run times are good, a bound that is used up grows by its square root every second.
//
// Each node tries for itself. Where many nodes overload one downstream, the trial of one shows
// little, and nothing is bounded. That is the safer error.
type Latency struct {
	configured int
	chance     uint64
	state      LatencyState

	now    gauge
	usual  float64 // run time in nanoseconds
	warm   int     // windows that usual is based on
	slow   int     // windows in a row
	spare  int     // windows in a row that used less than half of the bound
	varied covariance

	limit float64 // 0: no bound
	first float64 // tasks in flight when the first step down started
	trial trial

	wait      int64 // time between a failed trial and the next
	notBefore int64
	lookAt    int64
}

// NewLatency returns a Latency without a bound. configured is the resource's own bound, 0 for
// none; a learned bound never exceeds it. The seed makes nodes start trials at different times.
func NewLatency(configured int, seed uint64) *Latency {
	l := &Latency{configured: configured, chance: seed, wait: firstWait}
	l.tell(Unbounded, "no bound: run times are not known yet.")
	return l
}

// State returns the bound and the reason for it.
func (l *Latency) State() LatencyState { return l.state }

// Bound returns the maximum number of tasks in flight now, 0 for no bound.
func (l *Latency) Bound(now int64) int {
	if l.trial.stage != watching && now-l.trial.since > longestTrial {
		l.undo(now, "too few tasks end to tell")
	}
	return l.state.Bound
}

// Ended records that a task ended after service nanoseconds, with so many in flight including
// itself. A task that timed out counts with its timeout.
func (l *Latency) Ended(now, service int64, inFlight int) {
	if l.lookAt == 0 {
		l.look(now)
	}
	if l.trial.stage == draining && l.drained(now, inFlight) {
		return
	}
	l.now.add(now, service, inFlight, &l.chance)
	span, samples := l.need()
	if now-l.now.from < span || l.now.ends < samples {
		return
	}
	m := l.now.read(now)
	l.now.reset(now)
	if l.trial.stage != watching {
		l.step(now, m)
		return
	}
	l.watch(now, m)
}

// need returns how long a window lasts in the present stage, and how many ends it needs.
func (l *Latency) need() (span int64, samples int) {
	if l.trial.stage == watching {
		return watchSpan, watchSamples
	}
	return max(trialSpan, int64(2*l.trial.before.median)), trialSamples
}

// watch evaluates a window outside of trials.
func (l *Latency) watch(now int64, m reading) {
	l.slow = streak(l.slow, l.warm >= warmWindows && m.median > slowness*l.usual && m.median > shortest)
	l.learn(m.median)
	l.varied.add(m)
	switch {
	case l.limit > 0 && m.median <= fine*l.usual:
		l.widen(m)
	case l.limit > 0:
		l.tell(Shrunk, "%.0f in flight: run times are %s, usual are %s.", math.Floor(l.limit), brief(m.median), brief(l.usual))
	default:
		l.tell(Unbounded, "no bound: run times are %s, usual are %s.", brief(m.median), brief(l.usual))
	}
	if m.median < shortest || m.mean < worth || l.warm < warmWindows || now < l.notBefore {
		return
	}
	switch {
	case l.slow >= slowWindows:
		l.begin(now, m, false)
	case now >= l.lookAt, l.varied.idle():
		l.begin(now, m, true)
	}
}

// learn tracks the usual run time: upward only over ten minutes, and downward quickly if it
// drops far.
func (l *Latency) learn(median float64) {
	l.warm = min(l.warm+1, longMemory)
	over := float64(l.warm)
	if l.warm > warmWindows && median > fine*l.usual {
		over = longMemory
	}
	l.usual += (median - l.usual) / over
	if l.usual > slowness*median {
		l.usual *= 0.95
	}
}

// widen raises a bound that is used up, and removes it once it has no effect.
func (l *Latency) widen(m reading) {
	l.spare = streak(l.spare, float64(m.peak) < l.limit/2)
	if float64(m.peak) >= 0.8*l.limit {
		l.limit += math.Sqrt(l.limit)
	}
	if l.limit >= 1.25*l.first || l.spare >= warmWindows {
		l.limit, l.spare = 0, 0
		l.tell(Unbounded, "no bound: run times are good again, %s with %d in flight.", brief(m.median), m.peak)
		return
	}
	l.tell(Widening, "%.0f in flight: run times are good, %s.", math.Floor(l.limit), brief(m.median))
}

// look sets when fewer tasks are next tried without a cause.
func (l *Latency) look(now int64) {
	l.lookAt = now + int64(float64(lookEvery)*(0.9+0.2*draw(&l.chance)))
}

// tell records the reason for the present bound.
func (l *Latency) tell(why Reason, format string, args ...any) { l.hold(l.limit, why, format, args...) }

// hold sets a temporary bound; limit stays the one to go back to.
func (l *Latency) hold(limit float64, why Reason, format string, args ...any) {
	n := int(limit)
	if l.configured > 0 {
		n = min(n, l.configured)
	}
	l.state = LatencyState{Bound: n, Reason: why, Text: fmt.Sprintf(format, args...)}
}

func streak(n int, on bool) int {
	if !on {
		return 0
	}
	return n + 1
}

// brief formats a run time in nanoseconds for display.
func brief(nanos float64) string {
	d := time.Duration(nanos)
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}
