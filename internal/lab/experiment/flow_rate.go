package experiment

import (
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// FlowPoint is a moment of a run under a hidden capacity: means of the window that
// ends there, in items per second.
type FlowPoint struct {
	At       time.Duration
	Capacity float64
	// Rate is what the rule sets, the configured rate if it sets none.
	Rate            float64
	Passed, Refused float64
}

// FlowSeries runs a rule against a profile, with a bucket of a certain time, and
// returns the course of it.
func FlowSeries(p Profile, bucket time.Duration, rule flow.RateRule) []FlowPoint {
	w := newRefuser(p, bucket, rule, 141)
	w.run()
	return w.points
}

// refuser is a downstream that refuses, with one node before it that never runs
// out of work: the real limiter, the real windows and the real rule.
type refuser struct {
	*virtual.Clock
	tokens  tokens
	rule    flow.RateRule
	timed   bool          // refusals come with a Retry-After
	delay   time.Duration // from a decision to the pace
	shut    time.Duration // what a Retry-After says; 0: what is right
	noise   float64       // share of tasks that are refused whatever the rate
	rng     *rand.Rand
	lim     *limit.Limiter
	windows flow.Windows
	state   flow.RateState

	passed, refused, sent int64
	points                []FlowPoint
	last                  [2]int64 // passed and refused at the last point
}

// flowStart is the Unix time at which runs begin.
const flowStart = int64(1_700_000_000_000_000_000)

func newRefuser(p Profile, bucket time.Duration, rule flow.RateRule, seed uint64) *refuser {
	return &refuser{
		Clock:  virtual.NewClock(flowStart),
		tokens: tokens{profile: p, depth: bucket, have: p.At(0) * bucket.Seconds()},
		rule:   rule,
		rng:    virtual.Chance(seed, 14),
		lim:    limit.New(flowRate),
	}
}

// since returns the time since the beginning.
func (w *refuser) since() time.Duration { return time.Duration(w.Now() - flowStart) }

func (w *refuser) run() {
	w.lim.Busy(w.Now())
	w.After(0, w.dispatch)
	w.After(w.rng.Int64N(int64(flow.Window)), w.control)
	for w.since() < w.tokens.profile.For {
		w.Step()
	}
	w.tokens.fill(w.tokens.profile.For)
}

// dispatch sends a task as soon as the limiter allows it, a little late, as a busy loop does.
func (w *refuser) dispatch() {
	items := limit.Chunk(flowRate, 100)
	if at := w.lim.Ready(w.Now(), items); at > w.Now() {
		w.After(min(at-w.Now()+w.rng.Int64N(ms), 50*ms), w.dispatch)
		return
	}
	w.lim.Take(w.Now(), items)
	w.windows.Sent(w.Now(), items)
	w.sent += int64(items)
	sentAt := w.Now()
	there, back := w.way(), w.way()
	w.After(there, func() {
		if w.rng.Float64() < w.noise {
			w.After(back, func() { w.ended(sentAt, items, 0, 0) })
			return
		}
		passed, until := w.tokens.take(w.since(), items)
		w.After(back, func() { w.ended(sentAt, items, passed, until) })
	})
	w.After(0, w.dispatch)
}

// way returns how long a message takes: 5 to 15 ms.
func (w *refuser) way() int64 { return 5*ms + w.rng.Int64N(10*ms) }

func (w *refuser) ended(sentAt int64, items, passed int, back time.Duration) {
	until := int64(0)
	switch {
	case passed == items || !w.timed:
	case w.shut > 0:
		until = w.Now() + int64(w.shut)
	default:
		until = flowStart + int64(max(back, w.since()))
	}
	w.passed += int64(passed)
	w.refused += int64(items - passed)
	w.windows.Ended(w.Now(), sentAt, items, items-passed, until)
}

// control is what the node that allots the rate does every window.
func (w *refuser) control() {
	seen := w.windows.Settled(w.Now(), nil)
	w.state = w.rule(w.Now(), seen, w.state, flow.RateConfig{Rate: flowRate})
	for _, s := range seen {
		if until, ok := w.state.Blocks(s); ok && until > w.Now() {
			w.lim.CloseUntil(until)
		}
	}
	pace := 0.0
	if w.state.Limited {
		pace = w.state.Rate
	}
	w.After(int64(w.delay), func() { w.lim.SetPace(w.Now(), pace) })
	w.point(pace)
	w.After(int64(flow.Window), w.control)
}

func (w *refuser) point(pace float64) {
	if pace == 0 {
		pace = flowRate
	}
	per := 1 / flow.Window.Seconds()
	w.points = append(w.points, FlowPoint{
		At: w.since(), Capacity: w.tokens.profile.At(w.since()), Rate: pace,
		Passed: float64(w.passed-w.last[0]) * per, Refused: float64(w.refused-w.last[1]) * per,
	})
	w.last = [2]int64{w.passed, w.refused}
}

// shares returns used, the share of what the downstream could take up to the configured rate,
// and refused that of what was sent, both in per cent.
func (w *refuser) shares() (used, refused float64) {
	return 100 * float64(w.passed) / w.tokens.full, 100 * float64(w.refused) / float64(w.sent)
}
