package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/storetest"
)

// watched checks every value of a progress: counts add up and nothing goes back.
func watched(t testing.TB, b *engine.BulkAction, each func(weir.Progress)) (values int) {
	t.Helper()
	var last weir.Progress
	for p := range b.Progress(t.Context()) {
		c := p.Counts
		if sum := c.Ready + c.Waiting + c.InFlight + c.Done + c.Failed + c.Cancelled; sum != c.Total || min(c.Ready, c.Waiting, c.InFlight) < 0 {
			t.Errorf("counts %+v add up to %d", c, sum)
		}
		if c.Done < last.Counts.Done || c.Failed < last.Counts.Failed || c.Cancelled < last.Counts.Cancelled {
			t.Errorf("counts went back from %+v to %+v", last.Counts, c)
		}
		for i, s := range p.Steps {
			if last.Steps != nil && (s.Done < last.Steps[i].Done || s.Failed < last.Steps[i].Failed) {
				t.Errorf("step %d went back from %+v to %+v", i, last.Steps[i], s)
			}
		}
		each(p)
		last, values = p, values+1
	}
	return values
}

func TestEveryProgressAddsUpAndNoneGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := each("mixed", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
			if i == 0 {
				time.Sleep(50 * time.Millisecond)
			}
			switch {
			case it.Value%7 == 0 && b.Attempt() < 3:
				b.Retry(i, errDown, 0)
			case it.Value%11 == 0:
				b.Fail(i, "eleven", errDown)
			case it.Value%13 == 0:
				b.LeaveOut(i, "holdout")
			default:
				b.Done(i, "")
			}
		})
		b := submit(t, start(t, memory(), engine.Options{Slots: 8}, action(a)), spec(a), numbers(5000))
		var final weir.Progress
		sawRate := false
		n := watched(t, b, func(p weir.Progress) {
			final = p
			sawRate = sawRate || p.Rate > 0 && p.Remaining > 0
		})
		if n < 10 || !final.State.Final() || final.Finished.IsZero() || !sawRate {
			t.Errorf("%d values, the last %+v; want many, a speed, and an end", n, final)
		}
	})
}

func TestProgressOfACancelAddsUpAndDoesNotGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("step", time.Second)
		b := submit(t, start(t, memory(), engine.Options{Slots: 4}, action(a)), spec(a), numbers(1000))
		var seen weir.Counts
		watched(t, b, func(p weir.Progress) {
			if p.Counts.Done >= 40 && p.State == weir.BulkRunning {
				do(t, b.Cancel)
			}
			if p.State == weir.BulkCancelling {
				now, err := b.Now(t.Context())
				if err != nil {
					t.Error(err)
				}
				if now.Counts.Cancelled < p.Counts.Cancelled {
					t.Errorf("Now counts %d cancelled after a progress of %d", now.Counts.Cancelled, p.Counts.Cancelled)
				}
			}
			seen = p.Counts
		})
		if seen.Done+seen.Cancelled != 1000 || seen.Cancelled == 0 {
			t.Errorf("final counts = %+v", seen)
		}
	})
}

func TestWaitEndsWithItsContextAndWithTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("step", time.Hour)
		a.Timeout = 2 * time.Hour
		r := start(t, memory(), engine.Options{DrainFor: time.Second}, action(a))
		b := submit(t, r, spec(a), numbers(10))
		brief, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.Wait(brief); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait = %v, want its context's error", err)
		}
		ended := make(chan error)
		go func() {
			_, err := b.Wait(t.Context())
			ended <- err
		}()
		synctest.Wait()
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, weir.ErrClosed) {
			t.Errorf("Wait = %v, want ErrClosed", err)
		}
	})
}

func TestProgressShowsStepsThatMoveWhileTheCountsStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := weir.Then(weir.Start(oddsFail("one")), relay("two", func(b *weir.Batch[string, string], i int, _ weir.Item[string]) {
			if i == 0 {
				time.Sleep(5 * time.Minute)
			}
			b.Done(i, "")
		}), joined)
		for i := range c.Steps() {
			c.Steps()[i].Timeout = 10 * time.Minute
		}
		b := submit(t, start(t, memory(), engine.Options{}, chain(c)), job[int]{Chain: c}, numbers(300))
		began := time.Now()
		var shown time.Duration
		for p := range b.Progress(t.Context()) {
			if p.Steps[0].Done == 150 && shown == 0 {
				shown = time.Since(began)
			}
		}
		if shown == 0 || shown > time.Minute {
			t.Errorf("the end of step one was shown after %v", shown)
		}
	})
}

func TestWaitReturnsTheStoresError(t *testing.T) {
	s, away := failOn(storetest.OpGet, storetest.Fault{Before: errStore})
	a := noop("step")
	b := submit(t, open(t, s, engine.Options{}, action(a)), spec(a), numbers(10))
	away.Store(true)
	if _, err := b.Wait(t.Context()); !errors.Is(err, errStore) || errors.Is(err, weir.ErrClosed) {
		t.Errorf("Wait = %v, want the store's error", err)
	}
}

func TestWaitEndsAlsoIfAnotherEngineDidTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := slow("step", 10*time.Second), memory()
		b := submit(t, start(t, s, engine.Options{}, action(a)), spec(a), numbers(10))
		time.Sleep(time.Second)
		second := start(t, s, engine.Options{}, action(a)) // has to wait for the partitions
		same, err := second.Get(t.Context(), b.ID())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if rep, err := same.Wait(ctx); err != nil || rep.Counts.Done != 10 {
			t.Errorf("Wait = %v, want the report of the first engine's work", err)
		}
	})
}
