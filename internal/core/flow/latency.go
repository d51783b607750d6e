package flow

import (
	"fmt"
	"math"
	"time"
)

const (
	watchSpan    = int64(time.Second)
	watchSamples = 50
	warmWindows  = 10  // before what is usual is known
	longMemory   = 600 // windows

	// shortest is the run time below which slowness is not looked into: there the
	// noise of scheduling outweighs what a downstream does.
	shortest = float64(10 * time.Millisecond)
	// slowness is how many times the usual run time is slow, and fine what is not.
	slowness, fine = 2.0, 1.5
	slowWindows    = 3

	// lookEvery is how often fewer are tried without a cause, give or take a tenth:
	// a downstream that was slow from the start is never slower than usual.
	lookEvery = int64(10 * time.Minute)
	firstWait = int64(30 * time.Second)
	// worth is the number of tasks in flight below which a bound is not worth a trial.
	worth = 8
)

// LatencyState is what people are shown of a bound on the tasks in flight.
type LatencyState struct {
	// Bound is the most tasks in flight, 0 for no bound.
	Bound  int
	Reason Reason
	// Text says why in one sentence with the numbers.
	Text string
}

// Latency bounds the tasks in flight of a node on a resource by their run times.
//
// It begins without a bound. Run times that double are a reason to ask whether
// there are too many in flight, but no proof: downstreams are slow for many
// reasons. So every step down is a trial, and stays only if fewer in flight get
// as much done (nine tenths at least) in a shorter time each. If not, the tasks
// in flight were of use: the bound goes back, the run time counts as usual from
// then on, and the next trial waits, each time longer. Upward no trial is needed:
// while run times are good a bound that is used up grows by its root every second.
//
// A node tries for itself. Where many nodes overload one downstream the trial of
// one shows little, and nothing is bounded: that is the side to err on.
type Latency struct {
	configured int
	chance     uint64
	state      LatencyState

	now    gauge
	usual  float64 // run time in nanoseconds
	warm   int     // windows that it is made of
	slow   int     // windows in a row
	spare  int     // windows in a row that used less than half of the bound
	varied covariance

	limit float64 // 0: no bound
	first float64 // tasks in flight when the first step down began
	trial trial

	wait      int64 // between a trial that failed and the next
	notBefore int64
	lookAt    int64
}

// NewLatency returns a Latency without a bound. configured is the resource's own
// bound, 0 for none: what is learned never exceeds it. The seed spreads the
// trials of several nodes.
func NewLatency(configured int, seed uint64) *Latency {
	l := &Latency{configured: configured, chance: seed, wait: firstWait}
	l.tell(Unbounded, "no bound: run times are not known yet.")
	return l
}

// State returns the bound and why it is what it is.
func (l *Latency) State() LatencyState { return l.state }

// Bound returns the most tasks that may be in flight now, 0 for no bound.
func (l *Latency) Bound(now int64) int {
	if l.trial.stage != watching && now-l.trial.since > longestTrial {
		l.undo(now, "too few tasks end to tell")
	}
	return l.state.Bound
}

// Ended notes that a task ended after so many nanoseconds, with so many in flight
// including itself. A task that timed out counts with the time that it had.
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

// need is how long and how many ends a window takes in the present stage.
func (l *Latency) need() (span int64, samples int) {
	if l.trial.stage == watching {
		return watchSpan, watchSamples
	}
	return max(trialSpan, int64(2*l.trial.before.median)), trialSamples
}

// watch looks at a window outside of trials.
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

// learn follows the usual run time: what is longer than that only over ten
// minutes, and what is far shorter quickly.
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

// widen lets a bound grow that is used up, and lifts it once it is of no use.
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

// look sets when fewer are tried next without a cause.
func (l *Latency) look(now int64) {
	l.lookAt = now + int64(float64(lookEvery)*(0.9+0.2*draw(&l.chance)))
}

// tell says why the bound is what it is.
func (l *Latency) tell(why Reason, format string, args ...any) { l.hold(l.limit, why, format, args...) }

// hold sets a bound for the moment, which is not the one to go back to.
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

// brief writes a run time in nanoseconds for people.
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
