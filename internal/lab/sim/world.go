package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/lab/virtual"
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
	*virtual.Clock
	ctx    context.Context // never ends; stores want one
	seed   uint64
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

func newWorld(ctx context.Context, seed uint64, codec *block.Codec) *World {
	w := &World{ctx: ctx, seed: seed, Clock: virtual.NewClock(epoch), codec: codec, byID: map[weir.BulkID]*truth{}}
	w.users, w.faults, w.down = virtual.Named(seed, "users", 0), virtual.Named(seed, "faults", 0), virtual.Named(seed, "down", 0)
	w.plan = drawPlan(seed)
	w.mem = memstore.New(memstore.Options{Now: w.Now})
	w.ledger.parts = make([]account, w.plan.partitions)
	w.trace.world = w
	for no := range w.plan.nodes {
		n := &node{w: w, no: no, random: virtual.Named(seed, "node", no)}
		w.nodes = append(w.nodes, n)
		w.After(int64(w.users.IntN(200))*millis, n.start)
	}
	w.planUsers()
	w.planFaults()
	w.planLeaders()
	w.planTenants()
	w.planLimits()
	w.After(w.plan.healAt, w.heal)
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
	for w.Next() != virtual.Never && !(w.open+w.untold == 0 && w.healed) {
		if w.Advance(w.Next()); w.Now() > limit {
			w.unended()
		}
		w.Step()
	}
	w.checkEnd()
	return nil
}

// must stops the run on a broken invariant. b and item say whose events matter; b may be nil, item negative.
func (w *World) must(ok bool, invariant string, b *truth, item int, format string, args ...any) {
	if !ok {
		panic(w.failure(invariant, fmt.Sprintf(format, args...), b, item))
	}
}

func (w *World) failure(invariant, problem string, b *truth, item int) *Failure {
	return &Failure{
		Seed: w.seed, Invariant: invariant, Problem: problem, At: time.Duration(w.Now() - epoch),
		Events: w.trace.text(func(e *event) bool { return b == nil || e.about(b, item) }),
	}
}

// unended reports that the work did not end in time, and what was left.
func (w *World) unended() {
	for _, b := range w.bulks {
		if b.acked && !b.state().Final() {
			w.must(false, "I17", b, -1, "%s is %v with %d of %d items ended, %v after the last fault",
				b.spec.ID, b.state(), b.ended(), len(b.items), time.Duration(w.Now()-epoch-w.plan.healAt))
		}
	}
	w.unheard()
	w.must(false, "I17", nil, -1, "nothing is open, and it does not end")
}

// chance draws from r whether something of that probability happens. It draws in any case.
func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// between draws a duration.
func between(r *rand.Rand, low, high int64) int64 { return low + r.Int64N(high-low+1) }
