package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/flow"
	"github.com/weirhq/weir/internal/heap"
	"github.com/weirhq/weir/internal/limit"
)

// hiddenLimits are limits of a downstream that nobody has told: each may refuse.
type hiddenLimits struct {
	random float64       // share of calls refused whatever the load
	rate   float64       // of a token bucket, calls a second; 0: none
	burst  float64       // what the bucket holds
	atOnce int           // calls at the same time; 0: any number
	quota  int           // calls in each minute; 0: any number
	takes  time.Duration // of a call that passes, on average
}

// wayMean is how long a message takes on average.
const wayMean = 2 * time.Millisecond

// stranger is a downstream with hidden limits, and a node with endless work: the real
// limiter, the real windows and the real rule.
type stranger struct {
	hiddenLimits
	workers int
	config  flow.RateConfig
	rule    flow.RateRule
	span    time.Duration

	rng     *rand.Rand
	lim     *limit.Limiter
	windows flow.Windows
	crowd   flow.Parallel
	closure flow.Closure
	state   flow.RateState
	now     time.Duration
	events  heap.Heap[call]
	number  int
	flying  int
	waits   bool

	tokens   float64
	filled   time.Duration
	inside   int // calls that the downstream works on
	minute   time.Duration
	passes   int // in that minute
	passed   int // after the first seconds
	sent     int
	provoked int // refused by a limit, not at random
	chance   int // refused at random
}

// settledAfter is when counting begins: until then limits are being found.
const settledAfter = 10 * time.Second

func newStranger(h hiddenLimits, workers int, rate float64, rule flow.RateRule, seed uint64) *stranger {
	w := &stranger{
		hiddenLimits: h, workers: workers, config: flow.RateConfig{Rate: rate}, rule: rule, span: 2 * time.Minute,
		rng: rand.New(rand.NewPCG(seed, 17)), lim: limit.New(limit.Config{Rate: rate}), tokens: h.burst,
	}
	if h.quota > 0 {
		w.span = 2*time.Minute + settledAfter // in which three quotas can be used
	}
	return w
}

func (w *stranger) unix() int64 { return flowStart + int64(w.now) }

func (w *stranger) after(d time.Duration, do func()) {
	w.number++
	w.events.Push(call{w.now + d, w.number, do})
}

func (w *stranger) run() {
	w.lim.Busy(w.unix())
	w.after(0, w.dispatch)
	w.after(time.Duration(w.rng.Int64N(int64(flow.Window))), w.control)
	for len(w.events) > 0 && w.events[0].at < w.span {
		c := w.events.Pop()
		w.now = c.at
		c.do()
	}
}

func (w *stranger) dispatch() {
	for w.flying < w.workers {
		if at := w.lim.Ready(w.unix(), 1); at > w.unix() {
			w.wake(min(time.Duration(at-w.unix())+time.Duration(w.rng.Int64N(int64(100*time.Microsecond))), flow.Window))
			return
		}
		if ok, at := w.closure.Allow(w.unix(), w.flying); !ok {
			if at != flow.Never {
				w.wake(min(time.Duration(at-w.unix()), flow.Window))
			}
			return
		}
		if !w.crowd.Allow(w.unix(), w.flying) {
			return // an end will tell, or the next look
		}
		w.lim.Take(w.unix(), 1)
		w.windows.Sent(w.unix(), 1)
		w.flying++
		if w.now >= settledAfter {
			w.sent++
		}
		sentAt, beside := w.unix(), w.flying
		w.after(w.way(), func() { w.arrive(sentAt, beside) })
	}
}

func (w *stranger) wake(d time.Duration) {
	if !w.waits {
		w.waits = true
		w.after(d, func() { w.waits = false; w.dispatch() })
	}
}

func (w *stranger) way() time.Duration {
	return wayMean/2 + time.Duration(w.rng.Int64N(int64(wayMean)))
}

func (w *stranger) arrive(sentAt int64, beside int) {
	switch {
	case w.rng.Float64() < w.random:
		w.count(&w.chance)
	case !w.admits():
		w.count(&w.provoked)
	default:
		w.inside++
		w.after(w.takes/2+time.Duration(w.rng.Int64N(int64(w.takes))), func() {
			w.inside--
			w.after(w.way(), func() { w.end(sentAt, beside, false) })
		})
		return
	}
	w.after(w.way(), func() { w.end(sentAt, beside, true) })
}

func (w *stranger) count(n *int) {
	if w.now >= settledAfter {
		*n++
	}
}

// admits asks all limits, and uses them if all of them let the call pass.
func (w *stranger) admits() bool {
	if no := w.now / time.Minute; no != w.minute {
		w.minute, w.passes = no, 0
	}
	w.tokens = min(w.tokens+w.rate*(w.now-w.filled).Seconds(), w.burst)
	w.filled = w.now
	switch {
	case w.rate > 0 && w.tokens < 1, w.atOnce > 0 && w.inside >= w.atOnce, w.quota > 0 && w.passes >= w.quota:
		return false
	}
	w.tokens--
	w.passes++
	return true
}

func (w *stranger) end(sentAt int64, beside int, refused bool) {
	n := 0
	if refused {
		n = 1
	} else {
		w.count(&w.passed)
	}
	w.flying--
	if w.closure.Ended(w.unix(), sentAt, refused, 0) {
		w.windows = flow.Windows{}
	} else {
		w.windows.Ended(w.unix(), sentAt, 1, n, 0)
		w.crowd.Ended(w.unix(), sentAt, beside, refused)
	}
	w.dispatch()
}

func (w *stranger) control() {
	seen := w.windows.Settled(w.unix(), nil)
	was := w.state
	w.state = w.rule(w.unix(), seen, was, w.config)
	switch {
	case w.crowd.Found():
		w.state = flow.Ask(w.unix(), w.state, w.config)
	case w.state.Reason == flow.Cut && (!was.Limited || w.state.Rate < 0.75*was.Rate):
		w.crowd.Forget()
	}
	pace := 0.0
	if w.state.Limited {
		pace = w.state.Rate
	}
	w.lim.SetPace(w.unix(), pace)
	w.wake(0)
	w.after(flow.Window, w.control)
}

// possible is how many calls a second the limits let through.
func (w *stranger) possible() float64 {
	round := (w.takes + 2*wayMean).Seconds()
	turn := (1-w.random)*round + w.random*2*wayMean.Seconds() // of a worker
	best := (1 - w.random) * float64(w.workers) / turn
	if w.config.Rate > 0 {
		best = min(best, (1-w.random)*w.config.Rate)
	}
	if w.rate > 0 {
		best = min(best, w.rate)
	}
	if w.atOnce > 0 {
		best = min(best, (1-w.random)*float64(w.atOnce)/turn)
	}
	return best
}

// shares are what passed of what could have, and what limits refused of what was
// sent, in per cent, after the first seconds.
func (w *stranger) shares() (used, refused float64) {
	could := w.possible() * (w.span - settledAfter).Seconds()
	if w.quota > 0 {
		could = 2 * float64(w.quota) // the first is used up in the first seconds
	}
	return 100 * float64(w.passed) / could, 100 * float64(w.provoked) / float64(max(w.sent, 1))
}

// String names the limits.
func (h hiddenLimits) String() string {
	var parts []string
	if h.random > 0 {
		parts = append(parts, fmt.Sprintf("%g %% refused at random", 100*h.random))
	}
	if h.rate > 0 {
		parts = append(parts, fmt.Sprintf("%g/s with a burst of %g", h.rate, h.burst))
	}
	if h.quota > 0 {
		parts = append(parts, fmt.Sprintf("%d a minute", h.quota))
	}
	if h.atOnce > 0 {
		parts = append(parts, fmt.Sprintf("%d at once", h.atOnce))
	}
	return strings.Join(parts, " and ")
}

// strange is a setting with hidden limits, and what is known to hold where the target is missed.
type strange struct {
	hiddenLimits
	workers int
	rate    float64 // configured, more than the limits allow
	why     string
	used    float64
	refused float64
}

const (
	sparse   = "a few refusals a second have to add up before they tell the number in flight"
	together = "two limits so close together take turns in being found"
	hides    = "what a limit refuses has to stand out from what is refused at random"
	blamed   = "now and then the number in flight is blamed first, and found innocent within seconds"
	saved    = "a whole second that was saved up hides for as long that the rate is too high"
)

func strangers() (all []strange) {
	const ms = time.Millisecond
	for _, share := range []float64{0.01, 0.05, 0.1, 0.2, 0.3} {
		all = append(all, strange{hiddenLimits: hiddenLimits{random: share, takes: 30 * ms}, workers: 64, rate: 1000})
	}
	all = append(all, strange{
		hiddenLimits: hiddenLimits{quota: 10_000, takes: 30 * ms}, workers: 40, rate: 1000,
		why: "single calls find out when the next minute begins", used: 90, refused: 0.8,
	})
	for _, rate := range []float64{0, 1000} {
		all = append(
			all,
			strange{hiddenLimits: hiddenLimits{rate: 200, burst: 20, takes: 30 * ms}, workers: 16, rate: rate, why: blamed, used: 90, refused: 1.5},
			strange{hiddenLimits: hiddenLimits{rate: 200, burst: 2, takes: 30 * ms}, workers: 16, rate: rate, why: blamed, used: 85, refused: 1.5},
			strange{hiddenLimits: hiddenLimits{rate: 200, burst: 200, takes: 30 * ms}, workers: 64, rate: rate, why: saved, used: 90, refused: 2.5},
			strange{hiddenLimits: hiddenLimits{atOnce: 8, takes: 30 * ms}, workers: 16, rate: rate},
			strange{hiddenLimits: hiddenLimits{atOnce: 8, takes: 30 * ms}, workers: 64, rate: rate},
			strange{hiddenLimits: hiddenLimits{atOnce: 8, takes: 200 * ms}, workers: 64, rate: rate, why: sparse, used: 60, refused: 3},
			strange{hiddenLimits: hiddenLimits{rate: 200, burst: 20, atOnce: 8, takes: 30 * ms}, workers: 64, rate: rate, why: together, used: 85, refused: 2},
			strange{hiddenLimits: hiddenLimits{rate: 200, burst: 20, atOnce: 8, takes: 60 * ms}, workers: 64, rate: rate, why: together, used: 90, refused: 1.5},
			strange{hiddenLimits: hiddenLimits{random: 0.05, atOnce: 8, takes: 30 * ms}, workers: 64, rate: rate, why: hides, used: 88, refused: 1},
			strange{hiddenLimits: hiddenLimits{random: 0.2, atOnce: 8, takes: 30 * ms}, workers: 64, rate: rate, why: hides, used: 80, refused: 1.5},
			strange{hiddenLimits: hiddenLimits{random: 0.05, rate: 200, burst: 20, takes: 30 * ms}, workers: 16, rate: rate, why: hides, used: 90, refused: 8},
			strange{hiddenLimits: hiddenLimits{random: 0.2, rate: 200, burst: 20, takes: 30 * ms}, workers: 16, rate: rate, why: hides, used: 80, refused: 12},
		)
	}
	return all
}

// lines are the worst of several runs.
func (x strange) lines(seeds uint64) []Line {
	used, refused := math.Inf(1), 0.0
	for seed := range seeds {
		w := newStranger(x.hiddenLimits, x.workers, x.rate, flow.Estimate, 1701+seed)
		w.run()
		u, r := w.shares()
		used, refused = min(used, u), max(refused, r)
	}
	what := fmt.Sprintf("hidden %v, calls of %v, %d workers, ", x.hiddenLimits, x.takes, x.workers)
	if x.rate == 0 {
		what += "no rate configured, worst: "
	} else {
		what += fmt.Sprintf("%g/s configured, worst: ", x.rate)
	}
	return []Line{
		{Target: 15, What: what + "used", Got: used, Want: 95, AtLeast: true, Unit: " %", Missed: x.why, Holds: x.used},
		{Target: 15, What: what + "refused by a limit", Got: refused, Want: 0.5, Unit: " %", Missed: x.why, Holds: x.refused},
	}
}
