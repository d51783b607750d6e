package experiment

import (
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/store"
)

// What owners that share a limit promise beside the targets.

// judged are the seeds of these tests. The constants of package quota were chosen on others.
var judged = []uint64{201, 202, 203}

// must fails below a bound, and prints what was seen in any case.
func must[T int64 | float64 | time.Duration](t *testing.T, what string, got T, ok bool, want T) {
	t.Helper()
	t.Logf("%-40s %v (want %v)", what, got, want)
	if !ok {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func (w *owners) mustKeepTheLimit(t *testing.T) {
	t.Helper()
	must(t, "peak of any window", w.peak(), w.peak() <= w.limit.Limit.Units, w.limit.Limit.Units)
}

func TestALeadersDeathCostsNothing(t *testing.T) {
	for _, seed := range judged {
		w := bigLimit(seed).busyNodes()
		from := w.Now()
		w.limit.Depose()
		w.Run(w.Now() + 10*sec)
		w.limit.Elect(w.delay)
		w.Run(w.Now() + 10*sec)
		use := w.use(from, w.Now())
		must(t, "use around the leader's death", use, use >= 0.985, 0.985)
		w.mustKeepTheLimit(t)
	}
}

// sparse lets single tasks come to a node at random times, every so often on average.
func (n *owner) sparse(every int64) {
	n.w.At(n.w.Now()+int64(n.w.rnd.ExpFloat64()*float64(every)), func() {
		t := n.tenants[n.w.rnd.IntN(len(n.tenants))]
		t.queued = append(t.queued, n.w.Now())
		n.offer(t)
		n.ask()
		n.sparse(every)
	})
}

func TestSparseWorkBesideAFlood(t *testing.T) {
	for _, seed := range judged {
		w := bigLimit(seed)
		w.limit.Elect(w.delay)
		w.nodes[0].set(true)
		for _, n := range w.nodes[1:] {
			n.sparse(3 * sec) // all of them together 5 % of the rate
		}
		w.Run(w.Now() + 10*sec)
		from := w.Now()
		w.waits = nil
		w.Run(w.Now() + 120*sec)
		slices.Sort(w.waits)
		use, p50, p99 := w.use(from, w.Now()), time.Duration(w.waits[len(w.waits)/2]), time.Duration(w.waits[len(w.waits)*99/100])
		must(t, "use", use, use >= 0.97, 0.97)
		must(t, "sparse work waits, median", p50, p50 <= 250*time.Millisecond, 250*time.Millisecond)
		must(t, "sparse work waits, 99 of 100", p99, p99 <= time.Second, time.Second)
		w.mustKeepTheLimit(t)
	}
}

func TestASmallRateIsExact(t *testing.T) {
	for _, seed := range judged {
		for _, nodes := range []int{3, 16} {
			w := newOwners(seed, store.Limit{Resource: "r", Units: 10, Window: time.Second}, 1, nodes, 3*nodes).busyNodes()
			from := w.Now()
			w.Run(w.Now() + 60*sec)
			use := w.use(from, w.Now())
			must(t, "use of 10/s", use, use >= 0.98, 0.98)
			w.mustKeepTheLimit(t)
		}
	}
}

func TestAConcurrencyIsExactAndUsed(t *testing.T) {
	for _, seed := range judged {
		w := newOwners(seed, store.Limit{Resource: "r", Units: 10}, 1, 3, 9)
		for _, n := range w.nodes {
			n.service = func() int64 { return 10*ms + w.rnd.Int64N(200*ms) }
		}
		w.busyNodes()
		used := func(span int64) float64 {
			from, busy := w.Now(), w.busy
			w.Run(w.Now() + span)
			return float64(w.busy-busy) / float64(w.Now()-from) / float64(w.limit.Limit.Units)
		}
		use := used(60 * sec)
		must(t, "use of 10 slots", use, use >= 0.98, 0.98)
		w.nodes[1].set(false)
		w.Run(w.Now() + 2*sec)
		use = used(20 * sec)
		must(t, "with one of three idle", use, use >= 0.98, 0.98)
		w.nodes[2].die()
		w.Run(w.Now() + int64(w.limit.TTL) + sec)
		use = used(20 * sec)
		must(t, "with another one dead", use, use >= 0.98, 0.98)
		must(t, "most slots in use at once", int64(w.most), int64(w.most) == w.limit.Limit.Units, w.limit.Limit.Units)
	}
}
