package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// ledger notes when items were sent and how many tasks ran at once.
type ledger struct {
	mu      sync.Mutex
	times   []time.Time // one per item
	running int
	most    int
}

func (l *ledger) enter(items int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range items {
		l.times = append(l.times, time.Now())
	}
	l.running++
	l.most = max(l.most, l.running)
}

func (l *ledger) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
}

// busiest is the most items sent in any window.
func (l *ledger) busiest(window time.Duration) (most int) {
	slices.SortFunc(l.times, time.Time.Compare)
	for from, to := 0, 0; to < len(l.times); to++ {
		for l.times[to].Sub(l.times[from]) >= window {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// noted is an action that notes its calls and takes a time per task.
func noted(name string, l *ledger, d time.Duration) weir.Action[int, string] {
	return weir.Action[int, string]{Name: name, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
		l.enter(b.Len())
		defer l.leave()
		time.Sleep(d)
		b.DoneRest()
		return nil
	}}
}

// tenants submits the same work for several tenants, who lie in different partitions.
func tenants(t testing.TB, r *rig, a weir.Action[int, string], n, items int) (bulks []*engine.BulkAction) {
	t.Helper()
	for i := range n {
		sp := spec(a)
		sp.Tenant = fmt.Sprint("tenant-", i)
		bulks = append(bulks, submit(t, r, sp, numbers(items)))
	}
	return bulks
}

func TestARateIsSharedByPartitionsExactlyAndUsedWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		a := noted("limited", &l, 10*time.Millisecond)
		a.Resource.Rate = weir.PerSecond(500)
		r := start(t, memory(), engine.Options{Partitions: 8}, action(a))
		began := time.Now()
		for _, b := range tenants(t, r, a, 3, 5000) {
			rep := wait(t, b)
			wantCounts(t, rep, 5000, 0, 0)
			if rep.Steps[0].Refused != 0 || rep.Steps[0].Attempts != 5000 {
				t.Errorf("step = %+v, want no refusals and no repeats", rep.Steps[0])
			}
		}
		if took := time.Since(began); took > 30*time.Second*101/100 {
			t.Errorf("15,000 items at 500/s took %v, want 30s and at most 1%% more", took)
		}
		if most := l.busiest(time.Second); most > 500 {
			t.Errorf("%d items were sent within a second, the limit is 500", most)
		}
	})
}

// Pacing decides about the size of calls, as the action has it and as it is set while work runs.
func TestPacingDecidesAboutTheSizeOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("limited", 100*time.Millisecond)
		var largest atomic.Int64
		handle := a.Handle
		a.Handle = func(ctx context.Context, b *weir.Batch[int, string]) error {
			largest.Store(max(largest.Load(), int64(b.Len())))
			return handle(ctx, b)
		}
		a.BatchSize, a.Resource = 100, weir.Resource{Name: "api", Rate: weir.PerSecond(300)}
		r := start(t, memory(), engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(6000))
		want := func(when string, least, most int64) {
			t.Helper()
			time.Sleep(2 * time.Second) // what was cut before has run
			largest.Store(0)
			time.Sleep(3 * time.Second)
			if got := largest.Load(); got < least || got > most {
				t.Errorf("%s: the largest call has %d items, want %d to %d", when, got, least, most)
			}
		}
		set := func(p weir.Pacing) error {
			return r.Operator().ChangeLimits(t.Context(), func(l *weir.Limits) error {
				l.Resources["api"] = weir.ResourceLimits{Pacing: &p}
				return nil
			})
		}
		want("by default", 15, 15)
		if err := set(weir.PacingFull); err != nil {
			t.Fatal(err)
		}
		want("full", 34, 100) // a third of a call is worth one
		if err := set(weir.PacingSmooth); err != nil {
			t.Fatal(err)
		}
		want("smooth again", 15, 15)
		if err := set("fast"); err == nil || !strings.Contains(err.Error(), `resources.api.pacing: "fast" is unknown; use smooth or full`) {
			t.Errorf("an unknown pacing: %v", err)
		}
		wantCounts(t, wait(t, b), 6000, 0, 0)
		a.Resource.Pacing = "fast"
		a.Name, a.Resource.Name = "other", "other"
		if err := r.Engine.Handle(a); err == nil || !strings.Contains(err.Error(), "resource.pacing") {
			t.Errorf("an action with an unknown pacing: %v", err)
		}
	})
}

func TestARateHoldsAcrossARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		a := noted("limited", &l, 10*time.Millisecond)
		a.Resource.Rate = weir.PerSecond(100)
		s := memory()
		r := start(t, s, engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(1000))
		time.Sleep(3 * time.Second)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		r = start(t, s, engine.Options{}, action(a))
		b, err := r.Get(t.Context(), b.ID())
		if err != nil {
			t.Fatal(err)
		}
		wantCounts(t, wait(t, b), 1000, 0, 0)
		if most := l.busiest(time.Second); most > 100 {
			t.Errorf("%d items were sent within a second, the limit is 100", most)
		}
	})
}

func TestTasksInFlightAreLimited(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options engine.Options
		change  func(*weir.Action[int, string])
		want    int
	}{
		{"by the resource's concurrency, over all partitions", engine.Options{Partitions: 8}, func(a *weir.Action[int, string]) { a.Resource.Concurrency = 5 }, 5},
		{"by the engine's slots, over all partitions", engine.Options{Partitions: 8, Slots: 7}, func(*weir.Action[int, string]) {}, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l ledger
				a := noted("step", &l, 100*time.Millisecond)
				a.BatchSize = 1
				tt.change(&a)
				began := time.Now()
				for _, b := range tenants(t, start(t, memory(), tt.options, action(a)), a, 6, 100) {
					wantCounts(t, wait(t, b), 100, 0, 0)
				}
				if l.most != tt.want {
					t.Errorf("at most %d tasks ran at once, want %d", l.most, tt.want)
				}
				ideal := 600 * 100 * time.Millisecond / time.Duration(tt.want)
				if took := time.Since(began); took > ideal*11/10+time.Second {
					t.Errorf("took %v, with all of the limit used it is %v", took, ideal)
				}
			})
		})
	}
}

func TestABulkActionsOwnConcurrencyIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		a := noted("step", &l, 100*time.Millisecond)
		sp := spec(a)
		sp.Concurrency = 3
		wait(t, submit(t, start(t, memory(), engine.Options{}, action(a)), sp, numbers(2000)))
		if l.most != 3 {
			t.Errorf("at most %d tasks ran at once, want 3", l.most)
		}
	})
}

// smallTakes is the longest time that one of 20 tenants waits for 100 items.
func smallTakes(t *testing.T, flood int) (worst time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("step", time.Millisecond)
		a.BatchSize = 1
		r := start(t, memory(), engine.Options{Partitions: 8, Slots: 32}, action(a))
		var big *engine.BulkAction
		if flood > 0 {
			sp := spec(a)
			sp.Tenant = "flood"
			big = submit(t, r, sp, numbers(flood))
			time.Sleep(100 * time.Millisecond)
		}
		for _, b := range tenants(t, r, a, 20, 100) {
			rep := wait(t, b)
			worst = max(worst, time.Duration(rep.Duration))
		}
		if big != nil {
			if p := wantState(t, big, weir.BulkRunning); p.Counts.Done == 0 {
				t.Error("the flood did not move at all")
			}
			do(t, big.Cancel)
			wait(t, big)
		}
	})
	return worst
}

func TestAFloodDoesNotKeepSmallTenantsWaiting(t *testing.T) {
	idle, beside := smallTakes(t, 0), smallTakes(t, 50_000)
	if beside > 2*idle {
		t.Errorf("100 items take %v beside a flood and %v without, want at most twice as long", beside, idle)
	}
}
