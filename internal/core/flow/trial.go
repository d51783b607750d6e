package flow

import (
	"math"
	"time"
)

const (
	trialSpan    = int64(2 * time.Second)
	trialSamples = 100
	longestTrial = int64(30 * time.Second) // each stage
	longestWait  = lookEvery

	// asMuch is the share of the earlier throughput that a bound has to keep.
	asMuch = 0.9
	// steady is the share of its peak that the mean in flight must have: a bound trims peaks,
	// and where these are rare it shows nothing.
	steady = 0.7
	// usualCut and deepestCut are the shares of the tasks in flight that a trial keeps.
	usualCut, deepestCut = 0.7, 0.5
)

type stage uint8

const (
	watching  stage = iota // no trial
	comparing              // held at the present number in flight, as a baseline
	draining               // waiting until the surplus tasks have ended
	trying                 // fewer in flight, to compare
)

// trial is one step down of the bound, which has to prove itself.
type trial struct {
	stage  stage
	since  int64   // of the stage
	free   bool    // without a cause: goes on until fewer get less done
	best   float64 // ends per second, the highest in this row of trials
	before reading // with more in flight
	back   float64 // the bound to go back to
	cut    float64
	target float64
}

// begin holds the tasks in flight at their number and measures.
func (l *Latency) begin(now int64, m reading, free bool) {
	l.trial = trial{stage: comparing, since: now, free: free, before: m, back: l.limit}
	if l.limit == 0 {
		l.first = float64(m.peak)
	}
	l.slow, l.varied = 0, covariance{}
	l.hold(max(float64(m.peak), l.limit), Comparing, "held at %d in flight: run times are %s, usual are %s; fewer will be tried.",
		m.peak, brief(m.median), brief(l.usual))
	l.look(now)
}

// step continues a trial after a measurement.
func (l *Latency) step(now int64, m reading) {
	t := &l.trial
	switch {
	case t.stage == comparing && m.mean < steady*float64(m.peak), t.stage == comparing && m.mean < worth:
		l.undo(now, "the number in flight is too unsteady to tell")
	case t.stage == comparing:
		t.best = m.rate
		l.lower(now, m)
	case m.rate >= asMuch*t.best && m.median <= t.before.median*(1+t.cut)/2:
		l.keep(now, m)
	default:
		l.usual = m.median // with fewer in flight, the median shows what the downstream needs
		l.undo(now, "fewer got less done or were no faster")
	}
}

// lower sets the bound of the next trial.
func (l *Latency) lower(now int64, m reading) {
	t := &l.trial
	t.before, t.stage, t.since = m, draining, now
	t.cut = min(max(fine*l.usual/m.median, deepestCut), usualCut)
	if t.free {
		t.cut = usualCut
	}
	t.target = math.Floor(max(t.cut*m.mean, 1))
	l.hold(t.target, Trying, "%.0f in flight on trial, %.0f before: run times are %s, usual are %s.", t.target, m.mean,
		brief(m.median), brief(l.usual))
}

// drained starts to measure once the tasks in flight are within the trial's bound.
func (l *Latency) drained(now int64, inFlight int) (waits bool) {
	if float64(inFlight) > l.trial.target+1 {
		return true
	}
	l.trial.stage, l.trial.since = trying, now
	l.now.reset(now)
	return false
}

// keep puts the bound of a trial in force, and tries fewer still if there is reason to.
func (l *Latency) keep(now int64, m reading) {
	t := &l.trial
	l.limit, t.back = t.target, t.target
	t.best = max(t.best, m.rate)
	l.wait = firstWait
	if (t.free || m.median > fine*l.usual) && m.mean >= worth {
		l.lower(now, m)
		return
	}
	l.tell(Shrunk, "%.0f in flight get %s tasks/s done, as many as more did, in %s instead of %s.",
		l.limit, figure(m.rate), brief(m.median), brief(t.before.median))
	l.trial = trial{}
}

// undo ends a trial and restores the bound before it.
func (l *Latency) undo(now int64, why string) {
	l.limit = l.trial.back
	l.trial = trial{}
	l.now.reset(now)
	l.notBefore = now + l.wait
	l.wait = min(2*l.wait, longestWait)
	if l.limit == 0 {
		l.tell(Unbounded, "no bound: %s; the next trial is in %s at the earliest.", why, seconds(l.notBefore-now))
		return
	}
	l.tell(Shrunk, "%.0f in flight as before: %s.", l.limit, why)
}
