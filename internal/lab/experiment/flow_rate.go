package experiment

import (
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/heap"
	"github.com/weirhq/weir/internal/core/limit"
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
	now     time.Duration
	calls   heap.Heap[call]
	number  int

	passed, refused, sent int64
	points                []FlowPoint
	last                  [2]int64 // passed and refused at the last point
}

// call is a task on its way: it arrives, is let through or not, and comes back.
type call struct {
	at     time.Duration
	number int
	do     func()
}

// Before orders calls by time, then by number.
func (c call) Before(o call) bool { return c.at < o.at || c.at == o.at && c.number < o.number }

// flowStart is the Unix time at which runs begin.
const flowStart = int64(1_700_000_000_000_000_000)

func newRefuser(p Profile, bucket time.Duration, rule flow.RateRule, seed uint64) *refuser {
	return &refuser{
		tokens: tokens{profile: p, depth: bucket, have: p.At(0) * bucket.Seconds()},
		rule:   rule,
		rng:    rand.New(rand.NewPCG(seed, 14)),
		lim:    limit.New(limit.Config{Rate: flowRate}),
	}
}

// unix is the time as the core knows it.
func (w *refuser) unix() int64 { return flowStart + int64(w.now) }

func (w *refuser) after(d time.Duration, do func()) {
	w.number++
	w.calls.Push(call{w.now + d, w.number, do})
}

func (w *refuser) run() {
	w.lim.Busy(w.unix())
	w.after(0, w.dispatch)
	w.after(time.Duration(w.rng.Int64N(int64(flow.Window))), w.control)
	for len(w.calls) > 0 && w.now < w.tokens.profile.For {
		c := w.calls.Pop()
		w.now = c.at
		c.do()
	}
	w.tokens.fill(w.tokens.profile.For)
}

// dispatch sends a task as soon as the limiter lets it, a little late as it is in life.
func (w *refuser) dispatch() {
	items := limit.Chunk(flowRate, 100)
	if at := w.lim.Ready(w.unix(), items); at > w.unix() {
		late := time.Duration(w.rng.Int64N(int64(time.Millisecond)))
		w.after(min(time.Duration(at-w.unix())+late, 50*time.Millisecond), w.dispatch)
		return
	}
	w.lim.Take(w.unix(), items)
	w.windows.Sent(w.unix(), items)
	w.sent += int64(items)
	sentAt := w.unix()
	there, back := w.way(), w.way()
	w.after(there, func() {
		if w.rng.Float64() < w.noise {
			w.after(back, func() { w.ended(sentAt, items, 0, 0) })
			return
		}
		passed, until := w.tokens.take(w.now, items)
		w.after(back, func() { w.ended(sentAt, items, passed, until) })
	})
	w.after(0, w.dispatch)
}

// way is how long a message takes: 5 to 15 ms.
func (w *refuser) way() time.Duration {
	return 5*time.Millisecond + time.Duration(w.rng.Int64N(int64(10*time.Millisecond)))
}

func (w *refuser) ended(sentAt int64, items, passed int, back time.Duration) {
	until := int64(0)
	switch {
	case passed == items || !w.timed:
	case w.shut > 0:
		until = w.unix() + int64(w.shut)
	default:
		until = flowStart + int64(max(back, w.now))
	}
	w.passed += int64(passed)
	w.refused += int64(items - passed)
	w.windows.Ended(w.unix(), sentAt, items, items-passed, until)
}

// control is what the node that allots the rate does every window.
func (w *refuser) control() {
	seen := w.windows.Settled(w.unix(), nil)
	w.state = w.rule(w.unix(), seen, w.state, flow.RateConfig{Rate: flowRate})
	for _, s := range seen {
		if until, ok := w.state.Blocks(s); ok && until > w.unix() {
			w.lim.CloseUntil(until)
		}
	}
	pace := 0.0
	if w.state.Limited {
		pace = w.state.Rate
	}
	w.after(w.delay, func() { w.lim.SetPace(w.unix(), pace) })
	w.point(pace)
	w.after(flow.Window, w.control)
}

func (w *refuser) point(pace float64) {
	if pace == 0 {
		pace = flowRate
	}
	per := 1 / flow.Window.Seconds()
	w.points = append(w.points, FlowPoint{
		At: w.now, Capacity: w.tokens.profile.At(w.now), Rate: pace,
		Passed: float64(w.passed-w.last[0]) * per, Refused: float64(w.refused-w.last[1]) * per,
	})
	w.last = [2]int64{w.passed, w.refused}
}

// shares returns used, the share of what the downstream could take up to the configured rate,
// and refused that of what was sent, both in per cent.
func (w *refuser) shares() (used, refused float64) {
	return 100 * float64(w.passed) / w.tokens.full, 100 * float64(w.refused) / float64(w.sent)
}
