package experiment

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/heap"
	"github.com/weirhq/weir/internal/core/limit"
)

// unprovoked is a downstream that bears everything and refuses some tasks by
// chance, and a few workers that send it as much as they can.
type unprovoked struct {
	rule    flow.RateRule // nil: no flow control
	config  flow.RateConfig
	refuses float64       // share of the tasks
	workers int           // tasks in flight
	takes   time.Duration // of a task, on average
	span    time.Duration

	rng     *rand.Rand
	lim     *limit.Limiter
	windows flow.Windows
	state   flow.RateState
	now     time.Duration
	events  heap.Heap[call]
	number  int
	free    int
	waits   bool
	ended   int
}

// crew is workers, named by how many tasks a window has while nothing holds them back.
type crew struct {
	name    string
	workers int
	takes   time.Duration
	span    time.Duration
}

func crews() []crew {
	return []crew{
		{"2 tasks a window", 1, 125 * time.Millisecond, 20 * time.Minute},
		{"15 tasks a window", 6, 100 * time.Millisecond, 10 * time.Minute},
		{"100 tasks a window", 16, 40 * time.Millisecond, 3 * time.Minute},
		{"1,000 tasks a window", 40, 10 * time.Millisecond, time.Minute},
	}
}

// perSecond is the rate at which it would be sent, in tasks of one item.
func (x crew) perSecond() float64 { return float64(x.workers) / x.takes.Seconds() }

func newUnprovoked(x crew, rule flow.RateRule, refuses float64, configured bool, seed uint64) *unprovoked {
	w := &unprovoked{rule: rule, refuses: refuses, workers: x.workers, takes: x.takes, span: x.span, rng: rand.New(rand.NewPCG(seed, 16))}
	if configured { // less than they can send: it is in force
		w.config.Rate = 0.8 * x.perSecond()
	}
	w.lim = limit.New(limit.Config{Rate: w.config.Rate})
	return w
}

func (w *unprovoked) unix() int64 { return flowStart + int64(w.now) }

func (w *unprovoked) after(d time.Duration, do func()) {
	w.number++
	w.events.Push(call{w.now + d, w.number, do})
}

func (w *unprovoked) run() {
	w.free = w.workers
	w.lim.Busy(w.unix())
	w.after(time.Duration(w.rng.Int64N(int64(flow.Window))), w.control)
	w.dispatch()
	for w.events[0].at < w.span {
		e := w.events.Pop()
		w.now = e.at
		e.do()
	}
}

func (w *unprovoked) dispatch() {
	for w.free > 0 {
		if at := w.lim.Ready(w.unix(), 1); at > w.unix() {
			if !w.waits {
				w.waits = true
				w.after(min(time.Duration(at-w.unix()), flow.Window), func() { w.waits = false; w.dispatch() })
			}
			return
		}
		w.lim.Take(w.unix(), 1)
		w.windows.Sent(w.unix(), 1)
		w.free--
		sent := w.unix()
		w.after(w.takes/2+time.Duration(w.rng.Int64N(int64(w.takes))), func() { w.end(sent) })
	}
}

func (w *unprovoked) end(sent int64) {
	refused := 0
	if w.rng.Float64() < w.refuses {
		refused = 1
	}
	w.windows.Ended(w.unix(), sent, 1, refused, 0)
	w.ended++
	w.free++
	w.dispatch()
}

func (w *unprovoked) control() {
	seen := w.windows.Settled(w.unix(), nil)
	if w.rule != nil {
		w.state = w.rule(w.unix(), seen, w.state, w.config)
		pace := 0.0
		if w.state.Limited {
			pace = w.state.Rate
		}
		w.lim.SetPace(w.unix(), pace)
	}
	w.after(flow.Window, w.control)
}

// kept is the share, in per cent, of what is sent without flow control.
func kept(x crew, rule flow.RateRule, refuses float64, configured bool, seeds uint64) float64 {
	with, without := 0, 0
	for seed := range seeds {
		w, alone := newUnprovoked(x, rule, refuses, configured, 1401+seed), newUnprovoked(x, nil, refuses, configured, 1401+seed)
		w.run()
		alone.run()
		with, without = with+w.ended, without+alone.ended
	}
	return 100 * float64(with) / float64(without)
}

// atRandom is about refusals that have nothing to do with the rate: it stays what it was.
func atRandom(seeds uint64) (lines []Line) {
	worst := 100.0
	for _, configured := range []bool{false, true} {
		how := "no rate configured"
		if configured {
			how = "a configured rate"
		}
		for _, refuses := range []float64{0.003, 0.015, 0.05} {
			for _, x := range crews() {
				lines = append(lines, Line{
					Target: 15, What: fmt.Sprintf("%v %% refused at random, %s, %s: kept", 100*refuses, x.name, how),
					Got: kept(x, flow.Estimate, refuses, configured, seeds), Want: 90, AtLeast: true, Unit: " %",
					Missed: "few refusals take long to show that they are not about the rate", Holds: 80,
				})
				worst = min(worst, kept(x, flow.AIMD, refuses, configured, seeds))
			}
		}
	}
	return append(lines, Line{Target: 15, What: "AIMD instead, worst of the refusals at random: kept", Got: worst, Want: 90, AtLeast: true, Unit: " %"})
}
