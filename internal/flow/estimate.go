package flow

import (
	"math"
	"time"
)

const (
	firstHold   = int64(6 * time.Second)
	longestHold = int64(12 * time.Second)

	// few is the share of refused items below which one window alone is no reason:
	// a downstream's own clock ticks differently.
	few = 0.005
	// runLen is over how many windows in a row the estimate goes.
	runLen = 4
	// deepest is the most that one window may take away: a window in which all was
	// refused tells that the rate is too high, not that it is nothing.
	deepest = 0.1
	// echoFor is how long a few refusals may follow a cut: what the downstream saves
	// up is empty then, and nothing evens out.
	echoFor = int64(time.Second)
	// settle is how long a cut may take to be in force everywhere.
	settle = int64(Window)

	// Growth asks for a little more than what was found, for so long that a downstream
	// which saves up a second of its rate would have refused: only what is still let
	// through then is truly more. A bigger step would find out sooner, and be refused more.
	askStep, askMore, askSlope = 0.02, 0.05, 0.01
	askSteps                   = 12 // seconds
	leap                       = 1.25
)

// Estimate is the default rule. Refusals tell what the downstream lets through:
// what was sent less what was refused, over the windows in a row in which it
// refused. The rate goes just below that and stays there for a while, longer if
// the same was found before; then it asks for a little more, and for much more
// once that has been let through for long, until it is refused again or reaches
// the ceiling. How far it goes down is bounded by how many tasks were refused.
// Refusals that do not become fewer with the rate are not about the rate: they
// are borne, and the rate goes back to what it was.
func Estimate(now int64, seen []Seen, st RateState, c RateConfig) RateState {
	cut := false
	for _, s := range inOrder(seen) {
		next, x, ok := st.look(s, c)
		if st = next; !ok {
			continue
		}
		if st = st.tally(now, x, st.Found); !st.proven(now, x) {
			continue
		}
		if next, changed := st.estimated(now, x, c); changed {
			st, cut = next, true
		}
	}
	switch {
	case cut:
		return st
	case !st.Limited:
		return st.free("not limited: nothing is refused for being too much.")
	case st.waits(now):
		return st
	}
	return st.grown(now, c)
}

// noteRun counts windows in a row with refusals. What was let through in the
// first of them includes what the downstream had saved up, so it counts only as
// long as it is alone.
func (st RateState) noteRun(x sample) RateState {
	switch {
	case x.refused() <= st.borne():
		st.Run, st.RunSpan, st.RunPassed, st.RunTasks, st.RunHits = 0, 0, 0, 0, 0
		return st
	case st.Run <= 1:
		st.RunSpan, st.RunPassed = x.span, x.passed
	default:
		if st.Run > runLen {
			keep := float64(runLen-1) / runLen
			st.RunSpan, st.RunPassed = keep*st.RunSpan, keep*st.RunPassed
			st.RunTasks, st.RunHits = keep*st.RunTasks, keep*st.RunHits
		}
		st.RunSpan += x.span
		st.RunPassed += x.passed
	}
	st.Run++
	w := st.run().plus(x.weight())
	st.RunTasks, st.RunHits = w.tasks, w.hits
	return st
}

// estimated lowers the rate to what the downstream let through, as far as the
// evidence goes, or takes back cuts that were in vain. It leaves the state as it is
// if the refusals only tell what is known.
func (st RateState) estimated(now int64, x sample, c RateConfig) (RateState, bool) {
	was := st.exceeded(c)
	est := st.RunPassed / st.RunSpan / (1 - st.Borne)
	echo := st.echo(now, x, was)
	if st.run().heavy(st.Borne) {
		st.Proof = now
	}
	switch {
	case echo && (est >= st.Found || !st.known(now) && (st.run().hits < many || x.rate() < st.Found)):
		return st, false
	case echo:
		est = st.bounded(now, x, est, st.Found)
	case st.vain(now):
		return st.restored(now, c), true
	default:
		est = st.bounded(now, x, min(est, 0.98*was), was)
		st = st.suspect(now, was)
	}
	est = st.floor(max(est, deepest*was), c)
	switch {
	case echo: // of the same refusals: no reason to be surer
	case math.Abs(est-st.Last) < 0.1*st.Last:
		st.Hold, st.Begin = min(2*max(st.Hold, firstHold), longestHold), 0.97
	default:
		st.Hold, st.Begin = firstHold, 0.94
	}
	st.Limited, st.Found, st.Last, st.Since, st.Grown, st.Ahead = true, est, est, now, 0, 0
	st.Rate = st.floor(st.Begin*est, c)
	return st.told(Cut, "%s items/s, down from %s: %.1f %% of %s items/s were refused, %s let through.",
		figure(st.Rate), figure(was), 100*x.refused(), figure(x.rate()), figure(est)), true
}

// echo reports that a window was sent before the last cut, or faster than the rate
// in force because the cut had not arrived, or was refused a little just after
// it. Such a window says how much is let through, but not that the rate in force
// is too high.
func (st RateState) echo(now int64, x sample, was float64) bool {
	if !st.Limited || st.Gap > 0 { // what was done last is not a cut
		return false
	}
	sent := x.no * windowNanos
	return sent < st.Since || x.rate() > 1.15*was || x.refused() <= few && now-st.Since < echoFor ||
		sent < st.Since+settle && !st.known(now) && !x.weight().heavy(st.Borne)
}

// grown lets the rate approach what was found, stay there, and then ask for more.
func (st RateState) grown(now int64, c RateConfig) RateState {
	switch t := now - st.Since; {
	case t < st.Hold/2:
		st.Rate = st.Found * (st.Begin + (0.995-st.Begin)*2*float64(max(t, 0))/float64(st.Hold))
	case t < st.Hold:
		st.Rate = 0.995 * st.Found
	default:
		return st.more(t-st.Hold, c)
	}
	if st.Rate = st.floor(st.Rate, c); st.Rate >= st.ceiling(c) {
		return st.free("not limited: the ceiling is below what was let through.")
	}
	return st.told(Holding, "%s items/s: %s were let through %s ago; asks for more after %s.",
		figure(st.Rate), figure(st.Found), seconds(now-st.Since), seconds(st.Hold))
}

// more takes the steps of growth that are due after the hold: one a second.
func (st RateState) more(past int64, c RateConfig) RateState {
	due := int(past/second) + 1 + st.Ahead
	for ; st.Grown < due && st.Rate < st.ceiling(c); st.Grown++ {
		switch n := float64(st.Grown + 1); {
		case st.Found <= st.least(c): // nothing was let through, so nothing was found
			st.Rate = max(2*st.Rate, st.least(c))
		case n <= askSteps:
			st.Rate = st.floor(st.Found*(1+min(askStep*n, askMore+askSlope*n)), c)
		default:
			st.Rate *= min(leap, 1+0.03*math.Exp2(n-askSteps-1))
		}
	}
	if st.Rate >= st.ceiling(c) {
		return st.free("not limited: it grew to the ceiling and nothing was refused.")
	}
	if st.Ahead > 0 {
		return st.told(Growing, "%s items/s, growing from %s: it was closed %s ago.", figure(st.Rate), figure(st.Found), seconds(past))
	}
	return st.told(Growing, "%s items/s: nothing was refused for %s at %s.", figure(st.Rate), seconds(past+st.Hold), figure(st.Found))
}
