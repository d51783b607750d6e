package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// oneByOne takes a second per task of ten items, one task at a time.
func oneByOne(calls *tally) weir.Action[int, string] {
	a := each("step", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
		if i == 0 {
			time.Sleep(time.Second)
		}
		calls.add(it.ID)
		b.Done(i, "")
	})
	a.Resource.Concurrency = 1
	return a
}

// do sends a command and fails the test if it is refused.
func do(t testing.TB, command func(context.Context, string) error) {
	t.Helper()
	if err := command(t.Context(), "by a test"); err != nil {
		t.Fatal(err)
	}
}

func wantState(t testing.TB, b *engine.BulkAction, want weir.BulkState) weir.Progress {
	t.Helper()
	p, err := b.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.State != want {
		t.Errorf("state = %v, want %v", p.State, want)
	}
	return p
}

func TestAPauseLetsTheRunningTaskFinishAndStartsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := oneByOne(&calls)
		r := start(t, memory(), engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(100))
		time.Sleep(2500 * time.Millisecond)
		do(t, b.Pause)
		do(t, b.Pause) // repeating it changes nothing
		time.Sleep(5 * time.Minute)
		if p := wantState(t, b, weir.BulkPaused); p.Counts.Done != 30 || calls.sum() != 30 {
			t.Errorf("an hour after the pause %d are done and %d were called, want 30", p.Counts.Done, calls.sum())
		}
		do(t, b.Resume)
		do(t, b.Resume)
		wantCounts(t, wait(t, b), 100, 0, 0)
		calls.wantEach(t, 100, 1)
	})
}

func TestAPauseSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a, s := oneByOne(&calls), memory()
		r := start(t, s, engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(100))
		time.Sleep(2500 * time.Millisecond)
		do(t, b.Pause)
		time.Sleep(time.Minute)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		r = start(t, s, engine.Options{}, action(a))
		time.Sleep(5 * time.Minute)
		b, err := r.Get(t.Context(), b.ID())
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, b, weir.BulkPaused)
		do(t, b.Resume)
		wantCounts(t, wait(t, b), 100, 0, 0)
		calls.wantEach(t, 100, 1)
	})
}

func TestACancelEndsWhatDoesNotRunAndTheCountsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := oneByOne(&calls)
		b := submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(20_000))
		time.Sleep(2500 * time.Millisecond)
		do(t, b.Cancel)
		do(t, b.Cancel)
		began := time.Now()
		rep := wait(t, b)
		wantCounts(t, rep, 30, 0, 19_970)
		if rep.State != "cancelled" || time.Since(began) > time.Second {
			t.Errorf("state %s after %v, want cancelled when the running task has ended", rep.State, time.Since(began))
		}
		if row := rowOf(t, rep, id(19_999)); row.Reason != "user" || row.Attempts != 0 {
			t.Errorf("cancelled row = %+v, want reason user and no attempt", row)
		}
		calls.wantEach(t, 30, 1)
	})
}

func TestWhatHasEndedTakesNoCommand(t *testing.T) {
	a := noop("step")
	b := submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(10))
	wait(t, b)
	for name, command := range map[string]func(context.Context, string) error{"pause": b.Pause, "resume": b.Resume, "cancel": b.Cancel} {
		if err := command(t.Context(), ""); !errors.Is(err, weir.ErrEnded) {
			t.Errorf("%s of a completed one: %v, want ErrEnded", name, err)
		}
	}
	var bad *weir.FieldError
	if err := b.Cancel(t.Context(), "a\nb"); !errors.As(err, &bad) || bad.Field != "reason" {
		t.Errorf("a reason of two lines: %v, want a fault of the field reason", err)
	}
}

func TestCommandsBeforeTheOwnerKnowsTheBulkActionAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := oneByOne(&calls)
		r := open(t, memory(), engine.Options{}, action(a))
		cancelled, paused := submit(t, r, spec(a), numbers(50)), submit(t, r, spec(a), numbers(50))
		do(t, cancelled.Cancel)
		do(t, paused.Pause)
		r.run(t)
		wantCounts(t, wait(t, cancelled), 0, 0, 50)
		time.Sleep(5 * time.Minute)
		wantState(t, paused, weir.BulkPaused)
		if calls.sum() != 0 {
			t.Errorf("%d items were called, want none", calls.sum())
		}
	})
}

func TestARetryThatWaitsIsCancelledToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := each("later", func(b *weir.Batch[int, string], i int, _ weir.Item[int]) { b.Retry(i, errDown, time.Hour) })
		b := submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(30))
		time.Sleep(time.Minute)
		if p := wantState(t, b, weir.BulkRunning); p.Counts.Ended() != 0 {
			t.Errorf("ended = %d before the cancel", p.Counts.Ended())
		}
		do(t, b.Cancel)
		wantCounts(t, wait(t, b), 0, 0, 30)
	})
}

// failing answers failed for every item, one task of ten a time.
func failing() weir.Action[int, string] {
	a := each("fail", func(b *weir.Batch[int, string], i int, _ weir.Item[int]) { b.Fail(i, "bad", errDown) })
	a.Resource.Concurrency = 1
	return a
}

func TestAStopRuleStopsOrCancels(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rule   weir.StopRule
		failed int
		state  weir.BulkState
	}{
		{"by rate, once enough have ended", weir.StopRule{FailureRate: 0.5}, 100, weir.BulkStopped},
		{"by rate, with a smaller least number", weir.StopRule{FailureRate: 0.5, MinItems: 20}, 20, weir.BulkStopped},
		{"by count", weir.StopRule{MaxFailures: 35}, 40, weir.BulkStopped},
		{"at the first failure", weir.StopRule{MaxFailures: -1}, 10, weir.BulkStopped},
		{"by count, and cancels the rest", weir.StopRule{MaxFailures: 35, Cancel: true}, 40, weir.BulkCancelled},
		{"never", weir.StopRule{}, 1000, weir.BulkCompleted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := failing()
				sp := spec(a)
				sp.StopOn = tt.rule
				b := submit(t, start(t, memory(), engine.Options{}, action(a)), sp, numbers(1000))
				rep := wait(t, b)
				if rep.State != tt.state.String() || rep.Counts.Failed != int64(tt.failed) {
					t.Errorf("%s with %d failed, want %v with %d", rep.State, rep.Counts.Failed, tt.state, tt.failed)
				}
				if tt.rule.Cancel && rowOf(t, rep, id(999)).Reason != "rule" {
					t.Errorf("reason = %q, want rule", rowOf(t, rep, id(999)).Reason)
				}
			})
		})
	}
}

func TestAStoppedBulkActionCanBeResumedAndWaitedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := failing()
		sp := spec(a)
		sp.StopOn.MaxFailures = 35
		b := submit(t, start(t, memory(), engine.Options{}, action(a)), sp, numbers(100))
		for i, want := range []int64{40, 80, 100} {
			rep := wait(t, b)
			if rep.Counts.Failed != want {
				t.Fatalf("failed at stop %d = %d, want %d", i, rep.Counts.Failed, want)
			}
			if i < 2 {
				do(t, b.Resume)
			}
		}
		wantState(t, b, weir.BulkCompleted)
	})
}

func TestWaitReturnsAStoppedOneWhenItsRunningCallsHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, ended atomic.Int64
		a := failing()
		a.Resource.Concurrency = 4
		a.Handle = func(_ context.Context, b *weir.Batch[int, string]) error {
			bad := calls.Add(1) == 1
			if !bad {
				time.Sleep(20 * time.Second)
			}
			for i := range b.Items() {
				if bad {
					b.Fail(i, "bad", errDown)
				} else {
					b.Done(i, "")
				}
			}
			ended.Add(int64(b.Len()))
			return nil
		}
		sp := spec(a)
		sp.StopOn.MaxFailures = -1
		rep := wait(t, submit(t, start(t, memory(), engine.Options{}, action(a)), sp, numbers(1000)))
		if got := rep.Counts.Done + rep.Counts.Failed; rep.State != "stopped" || got != ended.Load() || rep.Counts.Done == 0 {
			t.Errorf("%s with %d items ended, want stopped with all %d of the calls that ran", rep.State, got, ended.Load())
		}
	})
}

func TestADeadlineEndsItWithWhatIsDone(t *testing.T) {
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var calls tally
			a, s := oneByOne(&calls), memory()
			sp := spec(a)
			sp.Deadline = time.Now().Add(5500 * time.Millisecond)
			r := start(t, s, engine.Options{}, action(a))
			b := submit(t, r, sp, numbers(100))
			if restart {
				time.Sleep(2500 * time.Millisecond)
				if err := r.stop(); err != nil {
					t.Fatal(err)
				}
				r = start(t, s, engine.Options{}, action(a))
				b, _ = r.Get(t.Context(), b.ID())
			}
			rep := wait(t, b)
			if rep.State != "completed" || rep.Counts.Done < 50 || rep.Counts.Done > 60 || rep.Counts.Cancelled != 100-rep.Counts.Done {
				t.Errorf("restart %v: %s %+v, want completed with 50 to 60 done and the rest cancelled", restart, rep.State, rep.Counts)
			}
			if row := rowOf(t, rep, id(99)); row.Reason != "deadline" {
				t.Errorf("reason = %q, want deadline", row.Reason)
			}
		})
	}
}

func TestAResumeThatChangesNothingDoesNotKeepWaitFromEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := failing()
		a.Handle = func(_ context.Context, b *weir.Batch[int, string]) error {
			time.Sleep(time.Second)
			for i := range b.Items() {
				b.Fail(i, "bad", errDown)
			}
			return nil
		}
		sp := spec(a)
		sp.StopOn.MaxFailures = 35
		b := submit(t, start(t, memory(), engine.Options{}, action(a)), sp, numbers(1000))
		time.Sleep(time.Second / 2) // it runs, and nothing has ended
		do(t, b.Resume)
		time.Sleep(time.Minute)
		wantState(t, b, weir.BulkStopped)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if rep, err := b.Wait(ctx); err != nil || rep.State != "stopped" {
			t.Errorf("Wait = %v, want the report of a stopped one", err)
		}
	})
}
