package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/store/memstore"
)

// epoch is when every simulation starts, in Unix nanoseconds.
const epoch = int64(1_800_000_000e9)

// Times are Unix nanoseconds; these make them readable.
const (
	millis = int64(time.Millisecond)
	second = int64(time.Second)
)

// World is one simulation: everything there is, and what it has shown so far.
type World struct {
	ctx    context.Context // never ends; stores want one
	seed   uint64
	now    int64
	events events
	codec  *block.Codec
	plan   plan
	mem    *memstore.Store
	ledger ledger
	nodes  []*node
	bulks  []*truth
	byID   map[weir.BulkID]*truth
	open   int // bulk actions that have not ended
	untold int // events that were not noted
	owners int // numbers the owners
	calls  uint32
	healed bool
	// Deaths of processes that no item caused, and partitions that were lost or left by a process that lived on.
	otherDeaths, outlived int
	met                   Met
	trace                 trace

	tenants tenantLimits
	limits  map[string]weir.Resource // those that were changed

	users, faults, down *rand.Rand
}

// Failure is a broken invariant.
type Failure struct {
	Seed      uint64
	Invariant string // as in "I3"
	Problem   string
	At        time.Duration // virtual time since the start
	Events    []string      // the last ones of the item or bulk action concerned
}

// Error tells seed, invariant and problem.
func (f *Failure) Error() string {
	return fmt.Sprintf("seed %d at %v: %s: %s", f.Seed, f.At, f.Invariant, f.Problem)
}

// Result is what a run has shown.
type Result struct {
	Failure *Failure // nil: every invariant held
	Hash    uint64   // of the trace
	Met     Met
	Events  int
	Items   int
	Trace   []string // if it was asked for
}

// Run simulates one seed. With recording set the trace is kept as text.
func Run(ctx context.Context, seed uint64, codec *block.Codec, recording bool) Result {
	w := newWorld(ctx, seed, codec)
	w.trace.recording = recording
	f := w.run()
	r := Result{Failure: f, Hash: w.trace.hash, Met: w.met, Events: w.trace.count, Trace: w.trace.text(nil)}
	for _, b := range w.bulks {
		r.Items += len(b.items)
	}
	return r
}

// stream splits a random stream for one purpose off the seed: a new draw in one
// place shifts no other.
func stream(seed uint64, purpose string, no int) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, c := range []byte(purpose) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h+uint64(no)))
}

func newWorld(ctx context.Context, seed uint64, codec *block.Codec) *World {
	w := &World{ctx: ctx, seed: seed, now: epoch, codec: codec, byID: map[weir.BulkID]*truth{}}
	w.users, w.faults, w.down = stream(seed, "users", 0), stream(seed, "faults", 0), stream(seed, "down", 0)
	w.plan = drawPlan(seed)
	w.mem = memstore.New(memstore.Options{Now: func() int64 { return w.now }})
	w.ledger.parts = make([]account, w.plan.partitions)
	w.trace.world = w
	for no := range w.plan.nodes {
		n := &node{w: w, no: no, random: stream(seed, "node", no)}
		w.nodes = append(w.nodes, n)
		w.after(int64(w.users.IntN(200))*millis, n.start)
	}
	w.planUsers()
	w.planFaults()
	w.planLeaders()
	w.planTenants()
	w.planLimits()
	w.after(w.plan.healAt, w.heal)
	return w
}

// run takes events in order of time until everything has ended, or something is broken.
func (w *World) run() (f *Failure) {
	defer func() {
		switch broken := recover().(type) {
		case nil:
		case *Failure:
			f = broken
		default:
			f = w.failure("must", fmt.Sprint(broken), nil, -1)
			if w.trace.recording {
				f.Problem += "\n" + string(debug.Stack())
			}
		}
	}()
	limit := epoch + w.plan.healAt + w.plan.bound
	for w.events.len() > 0 && !(w.open+w.untold == 0 && w.healed) {
		e := w.events.pop()
		w.now = e.at
		if w.now > limit {
			w.unended()
		}
		e.do()
	}
	w.checkEnd()
	return nil
}

// after has f called when d has passed.
func (w *World) after(d int64, f func()) { w.events.push(w.now+max(d, 0), f) }

// must stops the run on a broken invariant. b and item say whose events matter; b may be nil, item negative.
func (w *World) must(ok bool, invariant string, b *truth, item int, format string, args ...any) {
	if !ok {
		panic(w.failure(invariant, fmt.Sprintf(format, args...), b, item))
	}
}

func (w *World) failure(invariant, problem string, b *truth, item int) *Failure {
	return &Failure{
		Seed: w.seed, Invariant: invariant, Problem: problem, At: time.Duration(w.now - epoch),
		Events: w.trace.text(func(e *event) bool { return b == nil || e.about(b, item) }),
	}
}

// unended reports that the work did not end in time, and what was left.
func (w *World) unended() {
	for _, b := range w.bulks {
		if b.acked && !b.state().Final() {
			w.must(false, "I17", b, -1, "%s is %v with %d of %d items ended, %v after the last fault",
				b.spec.ID, b.state(), b.ended(), len(b.items), time.Duration(w.now-epoch-w.plan.healAt))
		}
	}
	w.unheard()
	w.must(false, "I17", nil, -1, "nothing is open, and it does not end")
}

// chance draws from r whether something of that probability happens. It draws in any case.
func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// between draws a duration.
func between(r *rand.Rand, low, high int64) int64 { return low + r.Int64N(high-low+1) }
