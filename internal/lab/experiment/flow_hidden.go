package experiment

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// hiddenLimits holds limits of a downstream that are not configured: each may refuse calls.
type hiddenLimits struct {
	random float64       // share of calls refused whatever the load
	rate   float64       // of a token bucket, items a second; 0: none
	burst  float64       // what the bucket holds
	atOnce int           // calls at the same time; 0: any number
	quota  int           // calls in each minute; 0: any number
	second int           // items in any second; 0: any number
	takes  time.Duration // of a call that passes, on average
}

// wayMean is how long a message takes on average.
const wayMean = 2 * time.Millisecond

// stranger is a downstream with hidden limits, and nodes with endless work: real
// partitions with the real queue, limits and flow control.
type stranger struct {
	*virtual.Clock
	hiddenLimits
	setup
	span time.Duration

	rng  *rand.Rand
	each []*node

	tokens   float64
	filled   time.Duration
	inside   int // calls that the downstream works on
	minute   time.Duration
	passes   int // in that minute
	came     virtual.Meter
	passed   int // items, from when counting begins on
	sent     int
	provoked int // refused by a limit, not at random
}

// setup is what stands before a downstream.
type setup struct {
	nodes, partitions int           // partitions of each node
	workers           int           // slots of each node
	rate              float64       // configured for all nodes; 0: none
	batch             int           // items of a call
	from              time.Duration // when counting begins
}

// settledAfter is until when limits are being found.
const settledAfter = 10 * time.Second

func newStranger(h hiddenLimits, u setup, seed uint64) *stranger {
	w := &stranger{
		Clock: virtual.NewClock(epoch), hiddenLimits: h, setup: u, span: 2 * time.Minute, tokens: h.burst,
		came: virtual.Meter{Window: sec}, rng: virtual.Chance(seed, 17),
	}
	if h.quota > 0 {
		w.span = 2*time.Minute + settledAfter // in which three quotas can be used
	}
	call := step("call", u.rate/float64(u.nodes))
	call.BatchSize = u.batch
	for i := range u.nodes {
		n := newNodeOn(w.Clock, capacity.Config{Slots: u.workers, Seed: seed + uint64(i)}, u.partitions, call)
		n.call = func(t *partition.Task, end func(partition.Result)) { w.send(len(t.Items), end) }
		w.After(w.rng.Int64N(int64(flow.Window)), func() { w.steer(n) })
		w.each = append(w.each, n)
		for p := range u.partitions {
			n.submit(p, partition.Created{ID: weir.BulkID(fmt.Sprint("ba_", p)), Tenant: fmt.Sprint(p),
				Items: endless / int64(u.partitions)})
		}
	}
	return w
}

func (w *stranger) run() { play(w.Clock, epoch+int64(w.span), w.each...) }

// now returns the time since the beginning.
func (w *stranger) now() time.Duration { return time.Duration(w.Now() - epoch) }

func (w *stranger) steer(n *node) {
	n.can.Steer(n.Now())
	n.settle()
	w.After(int64(flow.Window), func() { w.steer(n) })
}

func (w *stranger) way() int64 { return int64(wayMean)/2 + w.rng.Int64N(int64(wayMean)) }

// send is one call of some items from its beginning to its end.
func (w *stranger) send(items int, end func(partition.Result)) {
	w.count(&w.sent, items)
	w.After(w.way(), func() {
		switch {
		case w.rng.Float64() < w.random:
		case !w.admits(items):
			w.count(&w.provoked, items)
		default:
			w.inside++
			w.After(int64(w.takes)/2+w.rng.Int64N(int64(w.takes)), func() {
				w.inside--
				w.After(w.way(), func() {
					w.count(&w.passed, items)
					end(partition.Result{})
				})
			})
			return
		}
		w.After(w.way(), func() {
			end(partition.Result{Failure: &partition.Failure{Code: "http_429", Refused: true}})
		})
	})
}

func (w *stranger) count(n *int, items int) {
	if w.now() >= w.from {
		*n += items
	}
}

// admits asks all limits, and uses them if all of them let the call pass.
func (w *stranger) admits(items int) bool {
	now := w.now()
	if no := now / time.Minute; no != w.minute {
		w.minute, w.passes = no, 0
	}
	w.tokens = min(w.tokens+w.hiddenLimits.rate*(now-w.filled).Seconds(), w.burst)
	w.filled = now
	switch {
	case w.hiddenLimits.rate > 0 && w.tokens < float64(items), w.atOnce > 0 && w.inside >= w.atOnce,
		w.quota > 0 && w.passes >= w.quota, w.second > 0 && int(w.came.Within(int64(now)))+items > w.second:
		return false
	}
	w.tokens -= float64(items)
	w.passes++
	w.came.Add(int64(now), int64(items))
	return true
}

// possible returns how many items a second the limits let through.
func (w *stranger) possible() float64 {
	round := (w.takes + 2*wayMean).Seconds()
	turn := (1-w.random)*round + w.random*2*wayMean.Seconds() // of a worker
	best := (1 - w.random) * float64(w.workers*w.nodes*w.batch) / turn
	if w.setup.rate > 0 {
		best = min(best, (1-w.random)*w.setup.rate)
	}
	if w.hiddenLimits.rate > 0 {
		best = min(best, w.hiddenLimits.rate)
	}
	if w.atOnce > 0 {
		best = min(best, (1-w.random)*float64(w.atOnce)/turn)
	}
	return best
}

// shares returns what passed of what could have, and what limits refused of what was
// sent, in per cent, from when counting begins on.
func (w *stranger) shares() (used, refused float64) {
	could := w.possible() * (w.span - w.from).Seconds()
	if w.quota > 0 {
		could = min(could, 2*float64(w.quota)) // the first is used up in the first seconds
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
	why     string
	used    float64
	refused float64
}

const (
	hides    = "what a limit refuses has to stand out from what is refused at random"
	together = "two limits so close together take turns in being found"
	unseen   = "each node sees only its own refusals: while one makes room the others take it"
	reopens  = "calls in flight when a quota ends are refused, and single ones find out when the next begins"
	bursts   = "a burst hides the rate for as long as it lasts"
	few      = "slow calls are few, and each attempt to go faster is refused"
	mistaken = "one seed of ten takes it for a limit of the rate"
)

func strangers() (all []strange) {
	const ms = time.Millisecond
	for _, share := range []float64{0.01, 0.05, 0.1, 0.2, 0.3} {
		all = append(all, strange{hiddenLimits: hiddenLimits{random: share, takes: 30 * ms}})
	}
	for _, takes := range []time.Duration{30 * ms, 200 * ms} {
		all = append(
			all,
			strange{hiddenLimits{rate: 200, burst: 20, takes: takes}, few, 95, 0.7},
			strange{hiddenLimits: hiddenLimits{rate: 200, burst: 2, takes: takes}},
			strange{hiddenLimits{rate: 200, burst: 200, takes: takes}, bursts, 95, 3},
			strange{hiddenLimits{atOnce: 8, takes: takes}, mistaken, 65, 0.5},
			strange{hiddenLimits{quota: 10_000, takes: takes}, reopens, 80, 30},
			strange{hiddenLimits{rate: 200, burst: 20, atOnce: 8, takes: takes}, together, 65, 2},
			strange{hiddenLimits{rate: 200, burst: 20, quota: 10_000, takes: takes}, reopens, 70, 2},
			strange{hiddenLimits{atOnce: 8, quota: 10_000, takes: takes}, reopens, 65, 2},
			strange{hiddenLimits{random: 0.05, rate: 200, burst: 20, takes: takes}, hides, 80, 20},
			strange{hiddenLimits{random: 0.05, atOnce: 8, takes: takes}, hides, 65, 25},
			strange{hiddenLimits{random: 0.05, quota: 10_000, takes: takes}, reopens, 80, 30},
			strange{hiddenLimits{random: 0.2, rate: 200, burst: 20, takes: takes}, hides, 70, 30},
			strange{hiddenLimits{random: 0.2, atOnce: 8, takes: takes}, hides, 25, 50},
		)
	}
	return all
}

// setups returns one partition and no rate, the default number of partitions and a rate that is far too high,
// and three nodes.
func setups() []setup {
	return []setup{
		{nodes: 1, partitions: 1, workers: 64, batch: 1, from: settledAfter},
		{nodes: 1, partitions: 8, workers: 64, rate: 1000, batch: 1, from: settledAfter},
		{nodes: 3, partitions: 3, workers: 64, batch: 1, from: settledAfter},
	}
}

// lines returns the worst of several runs.
func (x strange) lines(u setup, runs int) []Line {
	what := fmt.Sprintf("hidden %v, calls of %v, ", x.hiddenLimits, x.takes)
	switch {
	case u.nodes > 1:
		what += fmt.Sprintf("%d nodes, ", u.nodes)
	case u.rate > 0:
		what += fmt.Sprintf("%d partitions, %g/s configured, ", u.partitions, u.rate)
	default:
		what += "one partition, no rate configured, "
	}
	if u.nodes > 1 && (x.atOnce > 0 || x.hiddenLimits.rate > 0 || x.quota > 0) {
		x.why, x.used, x.refused = unseen, 40, 75
	}
	return over(seeds(1701, runs), func(seed uint64) []Line {
		w := newStranger(x.hiddenLimits, u, seed)
		w.run()
		used, refused := w.shares()
		return []Line{
			atLeast(15, what+"used", used, 95, " %").missed(x.why, x.used),
			atMost(15, what+"refused by a limit", refused, 0.5, " %").missed(x.why, x.refused),
		}
	})
}

// firstMinute is about refusals at random from the first call on, when nothing is known yet of the
// downstream.
func firstMinute(runs int) (lines []Line) {
	for _, u := range []setup{
		{nodes: 1, partitions: 8, workers: 64, rate: 400, batch: 10},
		{nodes: 1, partitions: 8, workers: 64, rate: 1000, batch: 100},
		{nodes: 3, partitions: 3, workers: 64, rate: 1000, batch: 10},
	} {
		for _, share := range []float64{0.05, 0.1, 0.2} {
			what := fmt.Sprintf("%g %% refused at random, first minute, %g/s in batches of %d, nodes: %d, mean of %d: kept",
				100*share, u.rate, u.batch, u.nodes, runs)
			lines = append(lines, over(seeds(1751, runs), func(seed uint64) []Line {
				w := newStranger(hiddenLimits{random: share, takes: 50 * time.Millisecond}, u, seed)
				w.span = time.Minute
				w.run()
				used, _ := w.shares()
				return []Line{atLeast(15, what, used, 95, " %").taken(byMean).missed(
					"refusals have to show that they do not fall with the rate", 90)}
			})...)
		}
	}
	return lines
}

// hiddenLines returns all of them, or a few with one seed.
func hiddenLines(size Size) []Line {
	lines := firstMinute(sized(size, 3, 10))
	for i, x := range strangers() {
		for _, u := range setups() {
			if size == Whole || u.partitions == 8 && i%3 == 0 && i <= 9 {
				lines = append(lines, x.lines(u, sized(size, 1, 10))...)
			}
		}
	}
	return lines
}
