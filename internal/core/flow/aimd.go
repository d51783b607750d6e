package flow

import (
	"cmp"
	"time"
)

const (
	cutShare  = 0.8
	fewShare  = 0.9  // if only a few tasks were refused
	growShare = 0.02 // of the ceiling, a second

	// wellBelow is how far above the last cut a rate is still known to pass.
	wellBelow = 1.08

	// cutPause is the least time between two cuts, so that the effect of the first shows.
	cutPause = int64(time.Second)
)

// AIMD is the alternative rule. When the downstream refuses tasks, it cuts the rate by a fifth,
// by a tenth if only a few tasks were refused, or to the rate that passed if most were refused,
// at most once a second. Otherwise it raises the rate steadily, by a fiftieth of the ceiling a
// second. It takes back cuts that change nothing, as [Estimate] does. It reacts faster after
// step changes and on downstreams without burst capacity, but is refused more often. Below a
// few tasks a second it grows faster than it learns.
func AIMD(now int64, seen []Seen, st RateState, c RateConfig) RateState {
	cut := false
	for _, s := range inOrder(seen) {
		next, x, ok := st.look(s, c)
		if st = next; !ok || st.stale(x) {
			continue
		}
		var changed bool
		st, changed = st.backedOff(now, x, c)
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
	return st.added(now, c)
}

func (st RateState) backedOff(now int64, x sample, c RateConfig) (RateState, bool) {
	switch st = st.weigh(x).noteRun(x).count(now, x); {
	case st.vain(x):
		st = st.restored(now, c)
		st.Hold = 0
		return st, true
	case st.Doubted && st.pending(x), !st.excess(now, x), st.Since > now-cutPause:
		return st, false
	}
	was, share := st.exceeded(c), cutShare
	switch {
	case st.unchanged(): // the next cut has to settle it
		share = max(min(share, fewShare*(1-st.After.share())), deepest)
	case st.RunTasks.Hits < many && !st.known(now):
		share = fewShare
	case c.Rate == 0 && !st.Limited && x.refused() > 1-cutShare/2: // far above the limit, so the ceiling is too high as well
		share = max(x.passed/x.span/was, 0.001)
		st.Top = 4 * share * was
	}
	st = st.suspect(now, cmp.Or(st.inForce(c), was), x)
	st.Limited, st.Rate = true, st.floor(share*was, c)
	st.Found, st.Since, st.Hold, st.Grown = st.Rate, now, second, 0
	return st.newRun().told(Cut, "lowered from %[2]s to %[1]s items/s: %.1[3]f %% of %[4]s items/s were refused.",
		figure(st.Rate), figure(was), 100*x.refused(), figure(x.rate())), true
}

func (st RateState) added(now int64, c RateConfig) RateState {
	past := now - st.Since - st.Hold
	if st.unseen(now) {
		st.Hold, past = now-st.Since, 0
	}
	st.Rate = st.floor(st.Found+growShare*st.ceiling(c)*float64(max(past, 0))/1e9, c)
	if st.Rate > wellBelow*st.Found {
		st.Grown = 1 // refusals from here on do not concern the last cut
	}
	if st.Rate >= st.ceiling(c) {
		return st.free("not limited: it grew to the ceiling and nothing was refused.")
	}
	return st.told(Growing, "%s items/s, growing: more was refused %s ago.", figure(st.Rate), seconds(past))
}
