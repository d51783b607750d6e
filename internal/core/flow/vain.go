package flow

import "time"

const (
	// A cut is judged by the tasks of the next second, or the next provesBy if those take
	// longer: later refusals may have other reasons. A cut that has to settle whether cuts help
	// is judged until the rate grows again.
	provesFor, provesBy, provesAll = int64(time.Second), 50, 150
	// judgedBy is the least number of tasks that a cut is judged by.
	judgedBy = 20
	// judged is the evidence that decides about a cut.
	judged = 4.0
	// judgedAll is the number of tasks after which taking back cuts has proved right.
	judgedAll = 200
	// next is the share of refusals that remains if a cut was right.
	next = 0.001
	// rowFor is how long after a cut another one belongs to the same row.
	rowFor = int64(20 * time.Second)

	// A share that was shown to be refused at any rate is tested again after a minute, and if
	// that shows the same, after twice as long.
	baseFor, longestBase = int64(time.Minute), int64(8 * time.Minute)
	// mostBase is the largest share that may count as refused at any rate. Where more is
	// refused, the limit may be far lower still, or other clients take what this node leaves.
	mostBase = 0.4
	// usualTasks and usualWindows are the least number of tasks and windows that the usual
	// share covers.
	usualTasks, usualWindows = 1000, 40
)

// row counts what passed during a row of cuts.
type row struct {
	// Began is the start of the window that led to the first cut, and Passed the number of
	// items that passed since then.
	Began  int64   `json:"began"`
	Passed float64 `json:"passed"`
	// Rate is Passed per second, as of the last cut.
	Rate float64 `json:"rate"`
}

// weigh tracks the usual share of refusals. A base that has become too high drops with it, and
// an old one is forgotten: refusals have to show again that they do not depend on the rate.
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

// suspect starts a row of cuts of the rate in force, or continues it: it has to prove itself.
// If clearly more is refused than before the row, a new row starts.
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

// trusted ends the row of cuts: the rate in force stands.
func (st RateState) trusted() RateState {
	st.From, st.First, st.Row, st.Doubted, st.Fresh, st.Before, st.After = 0, 0, row{}, false, 0, weight{}, weight{}
	return st
}

// proving reports whether a cut is judged by this window.
func (st RateState) proving(x sample) bool {
	return st.From > 0 && st.Grown == 0 && (st.Doubted || st.Fresh < provesBy || x.no*windowNanos < st.Since+settle+provesFor)
}

// unseen reports whether too few tasks were sent after the last cut to try more. It ends after
// a while: there may be nothing more to send.
func (st RateState) unseen(now int64) bool {
	return st.From > 0 && st.Fresh < 2*fewTasks && now-st.Since < 4*longestHold
}

// count adds what was sent after a cut. The cuts have proved themselves if clearly less of it
// was refused than before, or if the decisive cut leaves no reason for doubt.
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

// verdict returns how strongly the tasks after the cuts speak for refusals at any rate, and
// against refusals that depend on the rate.
func (st RateState) verdict() float64 {
	zero, one := max(st.Base, next), st.Usual.share()
	if st.Before.heavy(st.Base) {
		one = st.Before.share()
	}
	return st.After.speaks(zero, min(max(one, 1.25*zero+few), 0.99))
}

// unchanged reports that after the last cut clearly more was refused than would remain if it
// was right. The share before the cuts is above the usual one by selection.
func (st RateState) unchanged() bool {
	return st.From > 0 && st.After.Hits >= 2 && st.verdict() >= judged && st.After.share() >= st.Before.share()/4
}

// vain reports that a row of cuts has changed nothing. That has to show twice: what passed
// before the first may have been burst capacity. It is certain only once less is sent than
// passed before, pauses included: as long as a rate is above the limit, cuts change little.
func (st RateState) vain(x sample) bool {
	return st.Doubted && x.rate() <= st.Row.Rate && st.unchanged() && st.After.Tasks >= judgedBy &&
		st.After.share() <= mostBase && !st.Before.lessThan(st.After)
}

// pending reports whether the effect of the last cut is not known yet.
func (st RateState) pending(x sample) bool {
	switch {
	case !st.proving(x):
		return false
	case st.unchanged():
		return st.Doubted && st.After.Tasks < judgedBy
	}
	return st.Doubted || !st.rare()
}

// restored takes back a row of cuts that did not help: the refusals have another cause, such as
// a limit on single items. Their share becomes the base, and the rate is again what it was
// before the first of these cuts. If the refusals do depend on the rate, they increase at once,
// and the rate is cut.
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
