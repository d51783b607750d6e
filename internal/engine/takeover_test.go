package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store/storetest"
)

func TestARetryThatWaitsKeepsItsTimeAndItsAttemptsOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var calls tally
		var last time.Duration
		a := each("later", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
			if calls.add(it.ID); b.Attempt() < 3 {
				b.Retry(i, errDown, 6*time.Minute)
				return
			}
			last = time.Since(began)
			b.Done(i, "")
		})
		s := memory()
		r := start(t, s, engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(10))
		for range 3 {
			time.Sleep(4 * time.Minute)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			r = start(t, s, engine.Options{}, action(a))
		}
		b, err := r.Get(t.Context(), b.ID())
		if err != nil {
			t.Fatal(err)
		}
		rep := wait(t, b)
		wantCounts(t, rep, 10, 0, 0)
		calls.wantEach(t, 10, 3)
		if last < 12*time.Minute || last > 13*time.Minute {
			t.Errorf("the third attempt came after %v, want 12 minutes", last)
		}
		if row := rowOf(t, rep, id(0)); row.Attempts != 3 {
			t.Errorf("attempts = %d, want 3", row.Attempts)
		}
	})
}

func TestAnotherEngineTakesOverWhenTheFirstIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := each("step", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
			if i == 0 {
				time.Sleep(time.Second)
			}
			calls.add(it.ID)
			b.Done(i, "")
		})
		s := memory()
		var cut atomic.Bool
		first := start(t, &storetest.Flaky{Store: s, Fail: func(storetest.Call) storetest.Fault {
			if cut.Load() {
				return storetest.Fault{Before: errStore}
			}
			return storetest.Fault{}
		}}, engine.Options{Slots: 4, LeaseFor: 9 * time.Second}, action(a))
		b := submit(t, first, spec(a), numbers(2000))
		time.Sleep(5500 * time.Millisecond)
		cut.Store(true)
		second := start(t, s, engine.Options{Slots: 4, LeaseFor: 9 * time.Second}, action(a))
		taken, err := second.Get(t.Context(), b.ID())
		if err != nil {
			t.Fatal(err)
		}
		wantCounts(t, wait(t, taken), 2000, 0, 0)
		twice := 0
		for id, n := range calls.all() {
			if n > 2 {
				t.Errorf("%s was called %d times", id, n)
			}
			twice += n - 1
		}
		// The first one goes on for as long as it can believe in its lease, and writes none of it.
		if twice == 0 || twice > 9*4*10 {
			t.Errorf("%d items were called twice, want some and at most a lease's worth", twice)
		}
		cut.Store(false)
		time.Sleep(time.Minute)
		if err := first.stop(); err != nil {
			t.Errorf("the first one ended with %v: partitions that were lost end no engine", err)
		}
	})
}

func TestAQuickRestartKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		a := noted("limited", &l, 10*time.Millisecond)
		a.Resource.Rate = weir.PerSecond(100)
		s := memory()
		r := start(t, s, engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(1000))
		for range 3 {
			time.Sleep(2 * time.Second)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			r = start(t, s, engine.Options{}, action(a))
		}
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

func TestACancelIsCarriedOutAfterARestartWithoutTheChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := slow("step", time.Hour), memory()
		a.Timeout = 2 * time.Hour
		r := start(t, s, engine.Options{DrainFor: time.Second}, action(a))
		b := submit(t, r, spec(a), numbers(100))
		time.Sleep(time.Second)
		do(t, b.Cancel)
		time.Sleep(time.Second)
		wantState(t, b, weir.BulkCancelling)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		r = start(t, s, engine.Options{})
		time.Sleep(time.Minute)
		if b, err := r.Get(t.Context(), b.ID()); err != nil {
			t.Error(err)
		} else if p := wantState(t, b, weir.BulkCancelled); p.Counts.Cancelled != 100 {
			t.Errorf("counts = %+v, want 100 cancelled", p.Counts)
		}
	})
}

func TestConcurrentSubmitsDoNotOverfillTheBacklog(t *testing.T) {
	a := noop("step")
	r := open(t, memory(), engine.Options{MaxPending: 5000}, action(a))
	var wg sync.WaitGroup
	var accepted, refused atomic.Int64
	for range 16 {
		wg.Go(func() {
			_, err := attempt(context.WithoutCancel(t.Context()), r.Engine, spec(a), engine.Items(numbers(2000)))
			var full *weir.BacklogError
			switch {
			case err == nil:
				accepted.Add(1)
			case errors.As(err, &full):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if accepted.Load() > 2 || accepted.Load()+refused.Load() != 16 {
		t.Errorf("%d of 2,000 items each were accepted, at most 5,000 items may be pending", accepted.Load())
	}
	submit(t, r, spec(a), numbers(1000)) // what was refused holds no place
}

func TestAnIdempotencyKeyIsKnownAfterTheNumberOfPartitionsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := slow("step", time.Millisecond), memory()
		sp := spec(a)
		sp.IdempotencyKey = "once"
		r := start(t, s, engine.Options{Partitions: 8}, action(a))
		first := submit(t, r, sp, numbers(10))
		wantCounts(t, wait(t, first), 10, 0, 0)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{3, 64} {
			r = start(t, s, engine.Options{Partitions: n}, action(a))
			if again := submit(t, r, sp, numbers(10)); again.ID() != first.ID() {
				t.Errorf("with %d partitions the key made %s, want %s again", n, again.ID(), first.ID())
			}
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestARateIsKeptOverATakeoverHoweverLongAgoTheEngineWasOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		a := noted("limited", &l, time.Millisecond)
		a.Resource.Rate = weir.PerMinute(30)
		s := memory()
		o := engine.Options{LeaseFor: time.Second}
		first := start(t, s, o, action(a))
		b := submit(t, first, spec(a), numbers(10))
		time.Sleep(time.Second)
		second := start(t, s, o, action(a)) // has to wait for the partitions
		time.Sleep(3100 * time.Millisecond) // the third item has just been sent
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		b, err := second.Get(t.Context(), b.ID())
		if err != nil {
			t.Fatal(err)
		}
		rep := wait(t, b)
		wantCounts(t, rep, 10, 0, 0)
		if most := l.busiest(2 * time.Second); most > 1 {
			t.Errorf("%d items were sent within two seconds, the limit is 1", most)
		}
		if slices.ContainsFunc(rep.Waited, func(w report.Wait) bool { return w.Reason != "rate" }) {
			t.Errorf("it waited on %+v, want the rate alone", rep.Waited)
		}
	})
}
