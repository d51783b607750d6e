package due

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store/memstore"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// order is a record with something to do at a time.
type order struct {
	At    time.Time
	Done  int
	Claim *Claim
}

// claimFor is how long a node of these tests claims an order.
const claimFor = 30 * time.Second

// node works on the orders of a store, as users of the package do.
type node struct {
	name   string
	orders *records.Table[order]
	runner *Runner[struct{}]
	does   func(ctx context.Context, id string) error // between claim and note

	mu  sync.Mutex
	did []string // orders, at each attempt
}

func newNode(name string, s records.Keeper, does func(ctx context.Context, id string) error) *node {
	n := &node{name: name, orders: records.New[order](s, "order"), does: does}
	n.runner = New(Options[struct{}]{Find: n.find, Work: n.work, Every: 10 * time.Second, Name: "orders", Logger: slog.New(slog.DiscardHandler)})
	return n
}

func (n *node) find(ctx context.Context) iter.Seq2[Job[struct{}], error] {
	return func(yield func(Job[struct{}], error) bool) {
		for e, err := range n.orders.All(ctx, "") {
			if e.Value.Done == 0 && !yield(Job[struct{}]{ID: e.Name, At: e.Value.At}, err) {
				return
			}
		}
	}
}

var errTaken = errors.New("another node has it")

func (n *node) work(ctx context.Context, j Job[struct{}]) (Next, error) {
	var next Next
	_, err := n.orders.Update(ctx, j.ID, func(o *order) error {
		if o.Done > 0 {
			return errTaken
		}
		if !o.Claim.Free(n.name, time.Now()) {
			next = Hold(o.Claim.Until)
			return errTaken
		}
		o.Claim = &Claim{n.name, time.Now().Add(claimFor)}
		return nil
	})
	if errors.Is(err, errTaken) {
		return next, nil
	}
	if err != nil {
		return Next{}, err
	}
	n.mu.Lock()
	n.did = append(n.did, j.ID)
	n.mu.Unlock()
	if err := n.does(ctx, j.ID); err != nil {
		return Next{}, err
	}
	_, err = n.orders.Update(ctx, j.ID, func(o *order) error { o.Done++; return nil })
	return Next{}, err
}

func (n *node) put(t *testing.T, id string, at time.Time) {
	t.Helper()
	if _, err := n.orders.Insert(t.Context(), id, order{At: at}); err != nil {
		t.Fatal(err)
	}
}

// start runs the node until the returned function is called, or the test ends.
func (n *node) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { n.runner.Run(ctx); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func (n *node) wantDone(t *testing.T, id string, times int) {
	t.Helper()
	e, err := n.orders.Get(t.Context(), id)
	if err != nil || e.Value.Done != times {
		t.Errorf("%s was noted %d times, %v; want %d", id, e.Value.Done, err, times)
	}
}

func nothing(context.Context, string) error { return nil }

func TestAJobIsDoneWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode("a", memstore.New(memstore.Options{}), nothing)
		n.put(t, "soon", time.Now().Add(time.Minute))
		n.put(t, "late", time.Now().Add(3*time.Hour)) // beyond what is held in memory
		n.start(t)
		time.Sleep(time.Minute - time.Millisecond)
		n.wantDone(t, "soon", 0)
		time.Sleep(2 * time.Millisecond)
		n.wantDone(t, "soon", 1)
		time.Sleep(2*time.Hour + 59*time.Minute)
		n.wantDone(t, "late", 1)
	})
}

func TestANewJobIsFoundAtOnceWhenTheRunnerIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode("a", memstore.New(memstore.Options{}), nothing)
		n.start(t)
		time.Sleep(time.Second)
		n.put(t, "new", time.Now())
		n.runner.Wake()
		time.Sleep(time.Millisecond)
		n.wantDone(t, "new", 1)
		n.put(t, "unannounced", time.Now())
		time.Sleep(10 * time.Second)
		n.wantDone(t, "unannounced", 1)
	})
}

// A node dies after it has claimed an order and before it has noted the result.
func TestAJobWhoseNodeDiedIsDoneByAnotherWhenTheClaimEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Options{})
		dying := newNode("dying", s, func(ctx context.Context, _ string) error { <-ctx.Done(); return context.Cause(ctx) })
		dying.put(t, "x", time.Now())
		stop := dying.start(t)
		time.Sleep(time.Second)
		stop()
		other := newNode("other", s, nothing)
		other.start(t)
		time.Sleep(claimFor - 2*time.Second)
		other.wantDone(t, "x", 0)
		time.Sleep(2 * time.Second)
		other.wantDone(t, "x", 1)
	})
}

func TestTwoNodesDoAJobOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Options{})
		slow := func(context.Context, string) error { time.Sleep(5 * time.Second); return nil }
		a, b := newNode("a", s, slow), newNode("b", s, slow)
		want := []string{}
		for i := range 26 {
			id := string(rune('a' + i))
			want = append(want, id)
			a.put(t, id, time.Now().Add(time.Duration(i%3)*time.Second))
		}
		a.start(t)
		b.start(t)
		time.Sleep(time.Minute)
		did := slices.Sorted(slices.Values(append(a.did, b.did...)))
		if !slices.Equal(did, want) {
			t.Errorf("done = %v, want each once", did)
		}
	})
}

func TestAJobThatFailsIsTriedAgainLaterEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		n := newNode("a", memstore.New(memstore.Options{}), func(context.Context, string) error {
			at = append(at, time.Since(began))
			if len(at) < 6 {
				return errors.New("not now")
			}
			return nil
		})
		n.put(t, "x", began)
		n.start(t)
		time.Sleep(time.Minute)
		if want := []time.Duration{0, 1, 3, 7, 15, 25}; len(at) != 6 || !slices.EqualFunc(at, want, func(a, b time.Duration) bool { return a == b*time.Second }) {
			t.Errorf("attempts at %v, want %v seconds", at, want)
		}
		n.wantDone(t, "x", 1)
	})
}

func TestAnErrorOfOneJobDoesNotHideTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Options{})
		if _, err := s.Swap(t.Context(), "order/damaged", nil, []byte("rubbish")); err != nil {
			t.Fatal(err)
		}
		n := newNode("a", s, nothing)
		n.put(t, "x", time.Now())
		n.start(t)
		time.Sleep(time.Second)
		n.wantDone(t, "x", 1)
	})
}

func TestJobsMayGoOnForAWhileAfterTheEnd(t *testing.T) {
	for takes, want := range map[time.Duration]int{2 * time.Second: 1, 20 * time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			n := newNode("a", memstore.New(memstore.Options{}), func(ctx context.Context, _ string) error {
				select {
				case <-time.After(takes):
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
			n.runner.opts.DrainFor = 5 * time.Second
			n.put(t, "x", time.Now())
			stop := n.start(t)
			time.Sleep(time.Second)
			stop()
			n.wantDone(t, "x", want)
		})
	}
}
