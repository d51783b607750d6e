package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

var errDown = errors.New("down")

func TestAnItemWithoutAnAnswerIsTriedAgainAndThenFailsAsNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := each("forget", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
			if calls.add(it.ID); it.Value != 3 {
				b.Done(i, "")
			}
		})
		rep := wait(t, submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(10)))
		wantCounts(t, rep, 9, 1, 0)
		if row := rowOf(t, rep, id(3)); row.Code != "no_result" || row.Attempts != 5 {
			t.Errorf("forgotten item = %+v, want no_result after 5 attempts", row)
		}
		if got := calls.all(); got[id(3)] != 5 || got[id(4)] != 1 {
			t.Errorf("calls of items 3 and 4 = %d, %d; want 5, 1", got[id(3)], got[id(4)])
		}
	})
}

// poison fails every task that holds item 37.
func poison(name string, calls *tally) weir.Action[int, string] {
	return weir.Action[int, string]{Name: name, BatchSize: 100, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
		for _, it := range b.Items() {
			calls.add(it.ID)
		}
		if slices.ContainsFunc(b.Items(), func(it weir.Item[int]) bool { return it.Value == 37 }) {
			return errDown
		}
		b.DoneRest()
		return nil
	}}
}

func TestHalvingIsolatesAPoisonousItemAndItsNeighboursAreDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := poison("poison", &calls)
		rep := wait(t, submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(100)))
		wantCounts(t, rep, 99, 1, 0)
		if row := rowOf(t, rep, id(37)); row.State != "failed" || row.Code != "handler_error" || row.Message != "down" {
			t.Errorf("poisonous item = %+v, want failed with the handler's error", row)
		}
		if got := calls.all()[id(99)]; got > 3 {
			t.Errorf("an item of the other half was called %d times, want at most 3", got)
		}
	})
}

func TestWithOneAttemptNothingIsRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := poison("poison", &calls)
		a.Retry.MaxAttempts = 1
		rep := wait(t, submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(150)))
		wantCounts(t, rep, 50, 100, 0)
		calls.wantEach(t, 150, 1)
	})
}

func TestARefusalCostsNoAttemptAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := weir.Action[int, string]{Name: "busy", Retry: weir.Backoff{MaxAttempts: 1}, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
			if calls.add("call") <= 3 {
				return fmt.Errorf("award: %w", &weir.RefusedError{After: time.Minute, Err: errDown})
			}
			if b.Attempt() != 1 {
				t.Errorf("attempt = %d after refusals, want 1", b.Attempt())
			}
			b.DoneRest()
			return nil
		}}
		began := time.Now()
		rep := wait(t, submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(20)))
		wantCounts(t, rep, 20, 0, 0)
		if s := rep.Steps[0]; s.Refused != 50 || s.Attempts != 20 || s.Retries != 0 || s.Calls != int64(calls.all()["call"]) {
			t.Errorf("step = %+v, want 50 refused (20, 20 and then half of them), 20 attempts, no retries", s)
		}
		if took := time.Since(began); took < 3*time.Minute || took > 4*time.Minute {
			t.Errorf("three refusals of a minute took %v", took)
		}
	})
}

func TestAnItemIsNotTriedAgainBeforeTheTimeItsHandlerNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first, second time.Time
		a := each("later", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
			switch {
			case it.Value != 5:
				b.Done(i, "")
			case b.Attempt() == 1:
				first = time.Now()
				b.Retry(i, errDown, 10*time.Minute)
			default:
				second = time.Now()
				b.Done(i, "")
			}
		})
		rep := wait(t, submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(10)))
		wantCounts(t, rep, 10, 0, 0)
		if waited := second.Sub(first); waited < 10*time.Minute || waited > 11*time.Minute {
			t.Errorf("the second attempt came after %v, want 10 minutes", waited)
		}
		if row := rowOf(t, rep, id(5)); row.Attempts != 2 {
			t.Errorf("attempts in the report = %d, want 2", row.Attempts)
		}
	})
}

func TestAHandlerThatBreaksFailsItsTaskAndNothingElse(t *testing.T) {
	for _, tt := range []struct {
		name string
		fall func()
		code string
	}{
		{"panics", func() { panic("boom") }, "panic"},
		{"ends its goroutine", runtime.Goexit, "panic"},
		{"writes to a nil map", func() { none()["x"] = 1 }, "panic"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := each("break", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
					if it.Value == 7 {
						tt.fall()
					}
					b.Done(i, "")
				})
				other := noop("other")
				r := start(t, memory(), engine.Options{}, action(a), action(other))
				broken, fine := submit(t, r, spec(a), numbers(100)), submit(t, r, spec(other), numbers(100))
				wantCounts(t, wait(t, fine), 100, 0, 0)
				rep := wait(t, broken)
				wantCounts(t, rep, 99, 1, 0)
				if row := rowOf(t, rep, id(7)); row.Code != tt.code {
					t.Errorf("row = %+v, want code %s", row, tt.code)
				}
			})
		})
	}
}

func TestATaskThatTakesTooLongHasItsContextCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := weir.Action[int, string]{
			Name: "hang", Timeout: time.Second, Retry: weir.Backoff{MaxAttempts: 1},
			Handle: func(ctx context.Context, _ *weir.Batch[int, string]) error {
				began := time.Now()
				if d, ok := ctx.Deadline(); !ok || d.Sub(began) > time.Second {
					t.Errorf("deadline %v, %v; want within a second", d, ok)
				}
				<-ctx.Done()
				if took := time.Since(began); took < time.Second || took > 1200*time.Millisecond {
					t.Errorf("context ended after %v, want 1s", took)
				}
				return ctx.Err()
			},
		}
		rep := wait(t, submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(10)))
		wantCounts(t, rep, 0, 10, 0)
		if row := rowOf(t, rep, id(0)); row.Code != "timeout" {
			t.Errorf("row = %+v, want code timeout", row)
		}
	})
}

func TestAHandlerThatIgnoresItsContextLosesItsSlotAndItsLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := weir.Action[int, string]{Name: "deaf", Timeout: time.Second, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
			answer := "in time"
			if b.Attempt() == 1 {
				time.Sleep(5 * time.Minute)
				answer = "late"
			}
			for i := range b.Items() {
				b.Done(i, answer)
			}
			return nil
		}}
		r := start(t, memory(), engine.Options{Slots: 1, Grace: 2 * time.Second}, action(a))
		began := time.Now()
		b := submit(t, r, spec(a), numbers(10))
		wait(t, b)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %v: the slot was not given to others", took)
		}
		time.Sleep(10 * time.Minute) // the first call answers
		rep := wait(t, b)
		wantCounts(t, rep, 10, 0, 0)
		if row := rowOf(t, rep, id(0)); string(row.Output) != `"in time"` {
			t.Errorf("output = %s, want that of the second attempt", row.Output)
		}
		if s := rep.Steps[0]; s.Done != 10 || s.Attempts != 20 {
			t.Errorf("step = %+v, want 10 done in 20 attempts", s)
		}
	})
}

func TestHeartbeatsExtendATasksTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := weir.Action[int, string]{Name: "long", Timeout: time.Second, Handle: func(ctx context.Context, b *weir.Batch[int, string]) error {
			for range 20 {
				time.Sleep(500 * time.Millisecond)
				b.Heartbeat()
			}
			if ctx.Err() != nil {
				t.Errorf("cancelled in spite of heartbeats: %v", ctx.Err())
			}
			b.DoneRest()
			return nil
		}}
		rep := wait(t, submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(10)))
		wantCounts(t, rep, 10, 0, 0)
		if rep.Steps[0].Attempts != 10 {
			t.Errorf("attempts = %d, want one per item", rep.Steps[0].Attempts)
		}
	})
}

func TestTwoAnswersForOneItemAreABugAndTheTaskIsRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := each("twice", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
			b.Done(i, "first")
			if it.Value == 4 && b.Attempt() == 1 {
				b.Fail(i, "second", errDown)
			}
		})
		rep := wait(t, submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(10)))
		wantCounts(t, rep, 10, 0, 0)
		if s := rep.Steps[0]; s.Attempts != 20 || s.Retries != 10 {
			t.Errorf("step = %+v, want the task run twice", s)
		}
	})
}

func TestATasksContextEndsWithTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		a := weir.Action[int, string]{Name: "leave", BatchSize: 1, Handle: func(ctx context.Context, b *weir.Batch[int, string]) error {
			child, cancel := context.WithCancel(ctx)
			go func() {
				defer cancel()
				<-child.Done()
				ended.Add(1)
			}()
			b.DoneRest()
			return nil
		}}
		wait(t, submit(t, start(t, memory(), engine.Options{Slots: 2}, action(a)), spec(a), numbers(50)))
		synctest.Wait()
		if got := ended.Load(); got != 50 {
			t.Errorf("%d of 50 goroutines saw the end of their task's context", got)
		}
	})
}

func TestAnAnswerAfterTheHandlerReturnedChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := weir.Action[int, string]{Name: "stray", BatchSize: 5, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
			time.Sleep(time.Second)
			if b.Item(0).Value == 0 {
				go func() {
					time.Sleep(500 * time.Millisecond) // now another task runs where this one did
					b.Done(0, "stray")
					b.DoneRest()
				}()
				return errDown
			}
			return nil // no answer: no_result
		}}
		a.Retry.MaxAttempts = 1
		rep := wait(t, submit(t, start(t, memory(), engine.Options{Slots: 1, Partitions: 1}, action(a)), spec(a), numbers(50)))
		wantCounts(t, rep, 0, 50, 0)
	})
}

// none is a map that cannot be written to.
func none() map[string]int { return nil }
