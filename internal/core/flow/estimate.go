package flow

import (
	"cmp"
	"math"
	"time"
)

const (
	firstHold   = int64(6 * time.Second)
	longestHold = int64(12 * time.Second)

	// few is the share of refused items below which one window alone does not justify a cut:
	// the downstream's clock ticks differently.
	few = 0.005
	// runLen is the number of consecutive windows that an estimate covers.
	runLen = 4
	// deepest bounds a cut by one window, as the share of the rate that is left: a window in
	// which all was refused shows that the rate is too high, not that it is zero.
	deepest = 0.1
	// echoFor is how long a few refusals may follow a cut: the downstream's burst
	// capacity is used up then, and nothing evens out.
	echoFor = int64(time.Second)
	// settle is how long a cut usually takes to be in force, and arrives the longest it may take.
	settle, arrives = int64(Window), int64(2 * time.Second)
	// decisive is the share of the passed rate to start with if a cut seems to have changed
	// nothing: the next cut has to settle the question.
	decisive = 0.88

	// Growth tries a little more than the found rate, for so long that a downstream with burst
	// capacity for a second would have refused: only what still passes then is truly more. A
	// bigger step would find out sooner, and be refused more.
	askStep, askMore, askSlope = 0.02, 0.05, 0.01
	askBase                    = 0.1
	askSteps                   = 12 // seconds
	leap                       = 1.25
)

// Estimate is the default rule. It estimates the rate that passes from windows with refusals:
// what was sent less what was refused, over consecutive such windows. The rate drops to just
// below the estimate and stays there for a while, longer if the same was found before. Then it
// tries a little more, and much more once that has passed for long, until it is refused again
// or reaches the ceiling. The number of refused tasks bounds how far the rate drops. Every cut
// has to prove itself: if the share of refusals does not fall with the rate, the rate is not
// their cause, and it goes back to what it was.
func Estimate(now int64, seen []Seen, st RateState, c RateConfig) RateState {
	cut := false
	for _, s := range inOrder(seen) {
		next, x, ok := st.look(s, c)
		if st = next; !ok {
			continue
		}
		var changed bool
		st, changed = st.estimated(now, x, c)
		cut = cut || changed
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

// noteRun counts consecutive windows with refusals. What passed in the first of them includes
// the downstream's burst capacity, so the first counts only as long as it is alone.
func (st RateState) noteRun(x sample) RateState {
	w := x.weight()
	if st.Evidence = max(0, st.Evidence+w.speaks(st.base(), st.more())); st.Evidence == 0 {
		return st.newRun()
	}
	st.RunTasks = st.RunTasks.plus(w)
	switch {
	case st.Base == 0 && w.Hits == 0:
		st.Run = 0
		return st
	case st.Run <= 1:
		st.RunSpan, st.RunPassed = x.span, x.passed
	default:
		if st.Run > runLen {
			const keep = float64(runLen-1) / runLen
			st.RunSpan, st.RunPassed = keep*st.RunSpan, keep*st.RunPassed
		}
		st.RunSpan += x.span
		st.RunPassed += x.passed
	}
	st.Run++
	return st
}

func (st RateState) newRun() RateState {
	st.Run, st.RunSpan, st.RunPassed, st.RunTasks = 0, 0, 0, weight{}
	return st
}

// estimated lowers the rate to the estimate, as far as the evidence allows, or takes back cuts
// that did not help. Without a reason it leaves the rate as it is.
func (st RateState) estimated(now int64, x sample, c RateConfig) (next RateState, changed bool) {
	if st.stale(x) {
		return st.refined(now, x, c)
	}
	st = st.weigh(x).noteRun(x).count(now, x)
	switch {
	case st.vain(x):
		return st.restored(now, c), true
	case st.pending(x), !st.excess(now, x), st.Limited && x.refused() <= few && now-st.Since < echoFor:
		return st, false
	}
	was := st.exceeded(c)
	est := st.bounded(now, x, min(st.RunPassed/st.RunSpan/(1-st.Base), 0.98*was), was)
	if math.Abs(est-st.Last) < 0.1*st.Last {
		st.Hold, st.Begin = min(2*max(st.Hold, firstHold), longestHold), 0.97
	} else {
		st.Hold, st.Begin = firstHold, 0.94
	}
	if st = st.suspect(now, cmp.Or(st.inForce(c), was), x); st.Doubted {
		st.Begin = decisive
	}
	st.Since, st.Grown, st.Ahead = now, 0, 0
	return st.cutTo(x, max(est, deepest*was), was, c).newRun(), true
}

// stale reports whether a window, or a part of it, was sent before the last cut was in force,
// or faster because the cut had not arrived everywhere.
func (st RateState) stale(x sample) bool {
	few := float64(x.tasks-1) / float64(x.tasks) // so few that the window begins and ends with a task
	age := x.no*windowNanos - st.Since
	return st.Limited && (age < settle || age < arrives && few*x.rate() > 1.15*st.Rate)
}

// refined lowers the found rate if a window that was mostly sent before the last cut shows that
// less passes: the burst capacity is used up by then.
func (st RateState) refined(now int64, x sample, c RateConfig) (next RateState, changed bool) {
	est := x.passed / x.span / (1 - st.Base)
	if st.From == 0 || st.Doubted || x.no*windowNanos+settle/2 > st.Since || !x.weight().heavy(st.Base) || est >= st.Found {
		return st, false
	}
	return st.cutTo(x, max(est, deepest*st.Found), st.Rate, c), true
}

// cutTo lowers the rate to just below what passed.
func (st RateState) cutTo(x sample, est, was float64, c RateConfig) RateState {
	est = st.floor(est, c)
	st.Limited, st.Found, st.Last = true, est, est
	st.Rate = st.floor(st.Begin*est, c)
	return st.told(Cut, "lowered from %[2]s to %[1]s items/s: %.1[3]f %% of %[4]s items/s were refused; the limit seems "+
		"to be about %[5]s.",
		figure(st.Rate), figure(was), 100*x.refused(), figure(x.rate()), figure(est))
}

// grown moves the rate towards the found rate, holds it there, and then tries more.
func (st RateState) grown(now int64, c RateConfig) RateState {
	t := now - st.Since
	if st.unseen(now) {
		st.Hold = max(st.Hold, t)
	}
	switch {
	case t < st.Hold/2:
		st.Rate = st.Found * (st.Begin + (0.995-st.Begin)*2*float64(max(t, 0))/float64(st.Hold))
	case t <= st.Hold:
		st.Rate = 0.995 * st.Found
	default:
		return st.ask(t-st.Hold, c)
	}
	if st.Rate = st.floor(st.Rate, c); st.Rate >= st.ceiling(c) {
		return st.free("not limited: the ceiling is below what was let through.")
	}
	return st.told(Holding, "held at %s items/s after refusals: the limit seems to be about %s. Tries more in %s.",
		figure(st.Rate), figure(st.Found), seconds(max(st.Since+st.Hold-now, 0)))
}

// ask takes the growth steps that are due after the hold: one a second.
func (st RateState) ask(past int64, c RateConfig) RateState {
	due := int(past/second) + 1 + st.Ahead
	for ; st.Grown < due && st.Rate < st.ceiling(c); st.Grown++ {
		switch n := float64(st.Grown + 1); {
		case st.Found <= st.least(c): // nothing passed, so nothing was found
			st.Rate = max(2*st.Rate, st.least(c))
		case n <= askSteps:
			more := min(askStep*n, askMore+askSlope*n)
			if st.Base > 0 { // a small excess would hide in the base for long
				more = max(more, askBase)
			}
			st.Rate = st.floor(st.Found*(1+more), c)
		default:
			st.Rate *= min(leap, 1+0.03*math.Exp2(n-askSteps-1))
		}
	}
	if st.Rate >= st.ceiling(c) {
		return st.free("not limited: it grew to the ceiling and nothing was refused.")
	}
	if st.Ahead > 0 {
		return st.told(Growing, "%s items/s, growing fast from %s for %s.", figure(st.Rate), figure(st.Found), seconds(past))
	}
	return st.told(Growing, "tries %s items/s: nothing was refused for %s at %s.", figure(st.Rate),
		seconds(past+st.Hold), figure(st.Found))
}
