package flow

import "time"

const (
	// A cut is judged by the tasks of the next second, or the next so many if those
	// take longer: what is refused later may have other reasons. One that has to settle
	// whether cuts help is judged for as long as no more is asked for.
	provesFor, provesBy, provesAll = int64(time.Second), 50, 150
	// judgedBy is by how many tasks at the least.
	judgedBy = 20
	// judged is the evidence that decides about a cut.
	judged = 4.0
	// judgedAll is after how many tasks it is known that taking back cuts was right.
	judgedAll = 200
	// next is the share of refusals that is left over if a cut was right.
	next = 0.001
	// rowFor is how long after a cut another one belongs to the same row.
	rowFor = int64(20 * time.Second)

	// What was shown to be refused at any rate is asked again after a minute, and if that shows
	// the same after twice as long.
	baseFor, longestBase = int64(time.Minute), int64(8 * time.Minute)
	// mostBase is the largest share that may be refused at any rate. Where more is, a limit may
	// be far lower still, or others take what this node leaves.
	mostBase = 0.4
	// usualTasks is over how many tasks, and usualWindows over how many windows, the
	// usual share goes at the least.
	usualTasks, usualWindows = 1000, 40
)

// row counts what was let through during a row of cuts.
type row struct {
	// Began is the start of the window that led to the first cut, and Passed the number of
	// items let through since then.
	Began  int64   `json:"began"`
	Passed float64 `json:"passed"`
	// Rate is Passed per second, as of the last cut.
	Rate float64 `json:"rate"`
}

// weigh follows the usual share of refusals. A base that has become too high comes
// down with it, and one that is old is forgotten: refusals have to show again that
// they are not about the rate.
func (st RateState) weigh(x sample) RateState {
	w := x.weight()
	if most := max(usualTasks, usualWindows*w.Tasks); st.Usual.Tasks+w.Tasks > most {
		st.Usual = st.Usual.times(max(most-w.Tasks, 0) / st.Usual.Tasks)
	}
	if st.Usual = st.Usual.plus(w); st.Usual.Tasks >= judgedAll {
		st.Expect = 0
	}
	switch {
	case st.Base == 0 || st.From > 0:
	case x.no*windowNanos >= st.Until:
		st.Base, st.Evidence = 0, 0
	default:
		st.Base = min(st.Base, st.Usual.atMost())
	}
	return st
}

// suspect begins a row of cuts of the rate in force, or goes on with it: it has to prove itself. If clearly
// more is refused than before the row, that is a matter of its own.
func (st RateState) suspect(now int64, was float64, x sample) RateState {
	switch {
	case st.From == 0 || now-st.Since > rowFor || st.Before.lessThan(st.RunTasks):
		first := max(st.From, st.First)
		st = st.trusted()
		st.From, st.First, st.Row = was, first, row{Began: x.no * windowNanos, Passed: x.passed}
	case st.unchanged():
		st.Doubted, st.After = true, weight{}
	}
	st.Row.Rate = st.Row.Passed / (float64(x.no*windowNanos-st.Row.Began)/1e9 + x.span)
	st.Before = st.Before.plus(st.RunTasks)
	st.Fresh, st.Evidence = 0, 0
	return st
}

// trusted forgets the row of cuts: what is in force stands.
func (st RateState) trusted() RateState {
	st.From, st.First, st.Row, st.Doubted, st.Fresh, st.Before, st.After = 0, 0, row{}, false, 0, weight{}, weight{}
	return st
}

// proving tells that a window is one of those that a cut is judged by.
func (st RateState) proving(x sample) bool {
	return st.From > 0 && st.Grown == 0 && (st.Doubted || st.Fresh < provesBy || x.no*windowNanos < st.Since+settle+provesFor)
}

// unseen tells that too few tasks were sent after the last cut to ask for more. That
// has an end, too: there may be no more to send.
func (st RateState) unseen(now int64) bool {
	return st.From > 0 && st.Fresh < 2*fewTasks && now-st.Since < 4*longestHold
}

// count takes what was sent after a cut into account. If clearly less of it was refused than
// before, the cuts have proved themselves, and also if the one that had to settle it
// leaves no more reason for doubt.
func (st RateState) count(now int64, x sample) RateState {
	if !st.proving(x) {
		if !st.Doubted || st.After.Hits >= 1 {
			return st
		}
		if st.Before.heavy(st.Base) {
			st.Proof = now
		}
		return st.trusted()
	}
	w := x.weight()
	if st.After.lessThan(w) { // the cut did help; this is something new, or chance
		first := max(st.From, st.First)
		st = st.trusted()
		st.First = first
		return st
	}
	st.After, st.Fresh = st.After.plus(w), st.Fresh+w.Tasks
	if st.verdict() <= -judged || st.Before.heavy(st.Base) && st.unchanged() && st.After.less(st.Before) > judged {
		if st.Before.heavy(st.Base) || st.verdict() <= -2*judged {
			st.Proof = now
		}
		st.Base, st.Usual = min(st.Base, st.After.atMost()), st.After
		return st.trusted()
	}
	return st
}

// verdict is how strongly what was sent after the cuts speaks for refusals at any rate,
// and against refusals that are about the rate.
func (st RateState) verdict() float64 {
	zero, one := max(st.Base, next), st.Usual.share()
	if st.Before.heavy(st.Base) {
		one = st.Before.share()
	}
	return st.After.speaks(zero, min(max(one, 1.25*zero+few), 0.99))
}

// unchanged tells that after the last cut clearly more was refused than is left over
// if it was right. What was refused before the cuts is more than usual by choice.
func (st RateState) unchanged() bool {
	return st.From > 0 && st.After.Hits >= 2 && st.verdict() >= judged && st.After.share() >= st.Before.share()/4
}

// vain tells that a row of cuts has changed nothing. That has to show twice: what was
// let through before the first may have been saved up. It is only known once less is sent than
// was let through before, pauses included: as long as a rate is above the limit, cuts change little.
func (st RateState) vain(x sample) bool {
	return st.Doubted && x.rate() <= st.Row.Rate && st.unchanged() && st.After.Tasks >= judgedBy && st.After.share() <= mostBase && !st.Before.lessThan(st.After)
}

// pending tells that it is not known yet whether the last cut helped.
func (st RateState) pending(x sample) bool {
	switch {
	case !st.proving(x):
		return false
	case st.unchanged():
		return st.Doubted && st.After.Tasks < judgedBy
	}
	return st.Doubted || !st.rare()
}

// restored ends a row of cuts that were in vain: the refusals have another cause, such
// as a limit on single items. Their share is the base from then on, and the rate is again what
// it was before the first of these cuts; should they be about the rate after
// all, they become more at once, and the rate is cut.
func (st RateState) restored(now int64, c RateConfig) RateState {
	st.Base = max(st.After.atMost(), st.Usual.atMost())
	st.BaseFor = min(max(2*st.BaseFor, baseFor), longestBase)
	st.Until = now + st.BaseFor
	st.Expect = 1 - (1-st.Base)*st.Rate/max(st.From, st.Rate)
	st.Rate = min(max(st.From, st.First), st.ceiling(c))
	st = st.trusted().newRun()
	st.Usual, st.Evidence, st.Proof = weight{}, 0, 0
	if st.Rate >= 0.98*st.ceiling(c) {
		return st.free("not limited: what is refused is refused at any rate.")
	}
	st.Found, st.Since, st.Hold, st.Begin, st.Grown, st.Ahead = st.Rate, now-provesFor, provesFor, 0.995, askSteps, askSteps
	return st.told(Growing, "%s items/s again: %.1f %% are refused at any rate, so the rate is not the cause.",
		figure(st.Rate), 100*st.Base)
}
