package quota

import (
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/store"
)

// The experiments run the real pools, keepers, books and plans on a clock of their
// own. The constants were chosen on other seeds than those used here.

// seeds of the experiments.
var seeds = []uint64{201, 202, 203}

// big is a limit of 10,000 items a second, in tasks of 100.
func big(seed uint64) *world {
	return newWorld(seed, store.Limit{Resource: "r", Units: 10_000, Window: time.Second}, 100, 16, 295)
}

// busy gives work without end to all nodes, and lets them settle.
func (w *world) busyNodes() *world {
	w.elect()
	for _, n := range w.nodes {
		n.set(true)
	}
	w.run(w.now + 10*sec)
	return w
}

// must fails below a target, and prints what was seen in any case.
func must[T int64 | float64 | time.Duration](t *testing.T, what string, got T, ok bool, want T) {
	t.Helper()
	t.Logf("%-60s %v (want %v)", what, got, want)
	if !ok {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func (w *world) mustKeepTheLimit(t *testing.T) {
	t.Helper()
	must(t, "peak of any window", w.peak(), w.peak() <= w.limit.Units, w.limit.Units)
}

func TestSixteenOwnersShareARateSteadily(t *testing.T) {
	for _, seed := range seeds {
		w := big(seed).busyNodes()
		from, before, holds, draws := w.now, slices.Clone(w.served), w.holds, w.draws
		w.run(w.now + 300*sec)
		use, even := w.use(from, w.now), jain(w.perWeight(before))
		must(t, "steady use", use, use >= 0.99, 0.99)
		must(t, "evenness over 295 tenants", even, even >= 0.999, 0.999)
		t.Logf("%d reports and %d draws a second", (w.holds-holds)/300, (w.draws-draws)/300)
		w.mustKeepTheLimit(t)
	}
}

func TestARateIsUsedAgainSoonAfter(t *testing.T) {
	half := func(on bool) func(*world) {
		return func(w *world) {
			for _, n := range w.nodes[:8] {
				n.set(on)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		before func(*world)
		happen func(*world)
		want   time.Duration
	}{
		{"half of the owners go idle", nil, half(false), 2500 * time.Millisecond},
		{"half of the owners return", half(false), half(true), 2500 * time.Millisecond},
		{"an owner dies", nil, func(w *world) { w.nodes[3].dead = true }, 4 * time.Second},
		{"the store forgets its books", nil, (*world).failOver, 4 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, seed := range seeds {
				w := big(seed).busyNodes()
				if tt.before != nil {
					tt.before(w)
					w.run(w.now + 10*sec)
				}
				from := w.now
				tt.happen(w)
				w.run(w.now + 10*sec)
				back := w.back(from, w.now, 0.985)
				must(t, "98.5 % of the rate after", back, back <= tt.want, tt.want)
				w.mustKeepTheLimit(t)
			}
		})
	}
}

func TestALeadersDeathCostsNothing(t *testing.T) {
	for _, seed := range seeds {
		w := big(seed).busyNodes()
		from := w.now
		w.lead.dead = true
		w.run(w.now + 10*sec)
		w.elect()
		w.run(w.now + 10*sec)
		use := w.use(from, w.now)
		must(t, "use around the leader's death", use, use >= 0.985, 0.985)
		w.mustKeepTheLimit(t)
	}
}

func TestFlappingOwnersCostUseAndNeverTheLimit(t *testing.T) {
	for _, tt := range []struct {
		mean int64
		want float64
	}{{60 * sec, 0.97}, {20 * sec, 0.94}, {6 * sec, 0.88}} {
		for _, seed := range seeds {
			w := big(seed).busyNodes()
			for _, n := range w.nodes[1:] {
				n.flap(tt.mean, false)
			}
			from := w.now
			w.run(w.now + 120*sec)
			use := w.use(from, w.now)
			must(t, "use with owners that are on and off for "+time.Duration(tt.mean).String(), use, use >= tt.want, tt.want)
			w.mustKeepTheLimit(t)
		}
	}
}

func TestSparseWorkBesideAFlood(t *testing.T) {
	for _, seed := range seeds {
		w := big(seed)
		w.elect()
		w.nodes[0].set(true)
		for _, n := range w.nodes[1:] {
			n.sparse(3 * sec) // all of them together 5 % of the rate
		}
		w.run(w.now + 10*sec)
		from := w.now
		w.waits = nil
		w.run(w.now + 120*sec)
		slices.Sort(w.waits)
		use, p50, p99 := w.use(from, w.now), time.Duration(w.waits[len(w.waits)/2]), time.Duration(w.waits[len(w.waits)*99/100])
		must(t, "use", use, use >= 0.97, 0.97)
		must(t, "sparse work waits, median", p50, p50 <= 250*time.Millisecond, 250*time.Millisecond)
		must(t, "sparse work waits, 99 of 100", p99, p99 <= time.Second, time.Second)
		w.mustKeepTheLimit(t)
	}
}

func TestASmallRateIsExact(t *testing.T) {
	for _, seed := range seeds {
		for _, nodes := range []int{3, 16} {
			w := newWorld(seed, store.Limit{Resource: "r", Units: 10, Window: time.Second}, 1, nodes, 3*nodes).busyNodes()
			from := w.now
			w.run(w.now + 60*sec)
			use := w.use(from, w.now)
			must(t, "use of 10/s", use, use >= 0.98, 0.98)
			w.mustKeepTheLimit(t)
		}
	}
}

func TestAConcurrencyIsExactAndUsed(t *testing.T) {
	for _, seed := range seeds {
		w := newWorld(seed, store.Limit{Resource: "r", Units: 10}, 1, 3, 9)
		w.ttl = 10 * time.Second
		for _, n := range w.nodes {
			n.service = func() int64 { return 10*ms + w.rnd.Int64N(200*ms) }
		}
		w.busyNodes()
		used := func(span int64) float64 {
			from, busy := w.now, w.busy
			w.run(w.now + span)
			return float64(w.busy-busy) / float64(w.now-from) / float64(w.limit.Units)
		}
		use := used(60 * sec)
		must(t, "use of 10 slots", use, use >= 0.98, 0.98)
		w.nodes[1].set(false)
		w.run(w.now + 2*sec)
		use = used(20 * sec)
		must(t, "with one of three idle", use, use >= 0.98, 0.98)
		w.nodes[2].dead = true
		w.run(w.now + int64(w.ttl) + sec)
		use = used(20 * sec)
		must(t, "with another one dead", use, use >= 0.98, 0.98)
		must(t, "most slots in use at once", int64(w.most), int64(w.most) == w.limit.Units, w.limit.Units)
	}
}
