package engine_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

func TestWhatIsSubmittedBeforeRunIsFoundAndRun(t *testing.T) {
	a := noop("step")
	r := open(t, memory(), engine.Options{}, action(a))
	b := submit(t, r, spec(a), numbers(100))
	found, err := r.Get(t.Context(), b.ID())
	if err != nil || found.Items() != 100 {
		t.Fatalf("an accepted bulk action is not found before its owner has read it: %v", err)
	}
	p, err := found.Now(t.Context())
	if err != nil || p.State != weir.BulkRunning || p.Counts.Ready != 100 {
		t.Errorf("progress = %+v, %v; want 100 ready", p, err)
	}
	r.run(t)
	wantCounts(t, wait(t, found), 100, 0, 0)
}

func TestAnIDThatNobodyGaveOutIsNotFound(t *testing.T) {
	r := open(t, memory(), engine.Options{})
	for _, id := range []weir.BulkID{"", "x", "ba_", "ba_01m7f2hx7300088k6sy49rkx5z", "ba_01M7F2HX7300088K6SY49RKX5Z", "ba_01m7f2hx73zzz88k6sy49rkx5z"} {
		if _, err := r.Get(t.Context(), id); !errors.Is(err, weir.ErrNotFound) {
			t.Errorf("Get(%q) = %v, want ErrNotFound", id, err)
		}
	}
}

func TestAnEngineRunsOnceAndTakesNoChainsThen(t *testing.T) {
	r := start(t, memory(), engine.Options{}, action(noop("step")))
	wait(t, submit(t, r, spec(noop("step")), numbers(1))) // it runs
	if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "already started") {
		t.Errorf("second Run: %v, want a refusal", err)
	}
	if err := r.Engine.Handle(noop("late")); err == nil || !strings.Contains(err.Error(), "before Run") {
		t.Errorf("registering while it runs: %v, want a refusal", err)
	}
}

// An engine that is told to stop before it has read its limits runs nothing. Wait must not block then.
func TestAnEngineThatStopsBeforeItBeginsKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := noop("step")
		r := open(t, memory(), engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(10))
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if err := r.Run(stopped); err != nil {
			t.Fatal(err)
		}
		patient, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.Wait(patient); !errors.Is(err, weir.ErrClosed) {
			t.Errorf("Wait = %v, want ErrClosed", err)
		}
	})
}

func TestBadChainsAreRefusedWithTheFieldNamed(t *testing.T) {
	limited := func(name, resource string, rate weir.Rate) weir.Action[int, string] {
		a := noop(name)
		a.Resource = weir.Resource{Name: resource, Rate: rate}
		return a
	}
	changed := func(f func(*weir.Action[int, string])) weir.Action[int, string] {
		a := noop("bad")
		f(&a)
		return a
	}
	for _, tt := range []struct {
		name string
		a    weir.Action[int, string]
		want string
	}{
		{"the same name twice", noop("known"), "registered before"},
		{"another rate for a resource", limited("b", "api", 10), `resource "api"`},
		{"no handler", changed(func(a *weir.Action[int, string]) { a.Handle = nil }), "steps[0].handle"},
		{"a bad name", changed(func(a *weir.Action[int, string]) { a.Name = "a b" }), "steps[0].name"},
		{"a batch of 1001", changed(func(a *weir.Action[int, string]) { a.BatchSize = 1001 }), "steps[0].batch_size"},
		{"a negative timeout", changed(func(a *weir.Action[int, string]) { a.Timeout = -1 }), "steps[0].timeout"},
		{"a negative rate", changed(func(a *weir.Action[int, string]) { a.Resource.Rate = -1 }), "steps[0].resource"},
		{"251 attempts", changed(func(a *weir.Action[int, string]) { a.Retry.MaxAttempts = 251 }), "steps[0].retry"},
		{"a base above the cap", changed(func(a *weir.Action[int, string]) { a.Retry.Base, a.Retry.Cap = 2, 1 }), "steps[0].retry"},
		{"no name", changed(func(a *weir.Action[int, string]) { a.Name = "" }), "name"},
		{"a bad URL", weir.HTTPAction[int, string]{Name: "http", URL: "ftp://x"}.Action(), "url"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := open(t, memory(), engine.Options{}, action(noop("known")), action(limited("a", "api", 5)))
			if err := r.Engine.Handle(tt.a); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one about %s", err, tt.want)
			}
		})
	}
	same := weir.Then(weir.Start(noop("x")), noop("x"), func(it weir.Item[int], _ string) int { return it.Value })
	if err := open(t, memory(), engine.Options{}).Handle(same); err == nil || !strings.Contains(err.Error(), "steps[1].name") {
		t.Errorf("a step name twice: %v, want a refusal", err)
	}
	clash := weir.Then(weir.Start(limited("x", "api", 1)), limited("y", "api", 2), func(it weir.Item[int], _ string) int { return it.Value })
	if err := open(t, memory(), engine.Options{}).Handle(clash); err == nil || !strings.Contains(err.Error(), `resource "api"`) {
		t.Errorf("two rates for a resource in one chain: %v, want a refusal", err)
	}
}

func TestOptionsOutOfRangeNameTheField(t *testing.T) {
	for field, o := range map[string]engine.Options{
		"Partitions": {Partitions: 257},
		"Slots":      {Slots: -1},
		"MaxPending": {MaxPending: -1},
		"LeaseFor":   {LeaseFor: time.Millisecond},
		"DrainFor":   {DrainFor: -1},
		"Grace":      {Grace: 2 * time.Hour},
		"CacheBytes": {CacheBytes: 5},
	} {
		_, err := engine.Open(t.Context(), memory(), o)
		var bad *weir.InputError
		if !errors.As(err, &bad) || len(bad.Fields) != 1 || bad.Fields[0].Field != field || bad.Fields[0].Fix == "" {
			t.Errorf("%s: error = %v, want that field and a fix", field, err)
		}
	}
}

func TestABulkActionWhoseChainIsNotKnownWaitsUntilItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a, s := oneByOne(&calls), memory()
		r := start(t, s, engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(100))
		time.Sleep(2500 * time.Millisecond)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		r = start(t, s, engine.Options{}) // knows no chain
		b, err := r.Get(t.Context(), b.ID())
		if err != nil {
			t.Fatal(err)
		}
		do(t, b.Pause) // makes it show itself
		do(t, b.Resume)
		time.Sleep(time.Minute)
		for p := range b.Progress(t.Context()) {
			if p.Counts.Done != 30 {
				t.Errorf("done = %d, want the 30 of before", p.Counts.Done)
			}
			break
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		r = start(t, s, engine.Options{}, action(a))
		if b, err = r.Get(t.Context(), b.ID()); err != nil {
			t.Fatal(err)
		}
		wantCounts(t, wait(t, b), 100, 0, 0)
		calls.wantEach(t, 100, 1)
	})
}

func TestTheReasonOfAnUnknownChainIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := noop("step"), memory()
		b := submit(t, open(t, s, engine.Options{}, action(a)), spec(a), numbers(10))
		r := open(t, s, engine.Options{})
		b, err := r.Get(t.Context(), b.ID())
		if err != nil {
			t.Fatal(err)
		}
		shown := make(chan []string, 1)
		go func() {
			for p := range b.Progress(t.Context()) {
				if p.WaitingOn != nil {
					shown <- p.WaitingOn
					return
				}
			}
			close(shown)
		}()
		synctest.Wait()
		r.run(t)
		time.Sleep(time.Minute)
		select {
		case why := <-shown:
			if len(why) != 1 || why[0] != "unknown_action" {
				t.Errorf("waits on %v, want unknown_action", why)
			}
		default:
			t.Error("no reason is shown")
			_ = r.stop()
		}
		do(t, b.Cancel) // that much works without its chain
		wantCounts(t, wait(t, b), 0, 0, 10)
	})
}

func TestAStopLetsRunningTasksFinishAndARestartGoesOn(t *testing.T) {
	dir := t.TempDir()
	var calls tally
	begun := make(chan struct{}, 1000)
	var open atomic.Bool
	release := make(chan struct{})
	a := weir.Action[int, string]{Name: "step", BatchSize: 10, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
		if !open.Load() {
			begun <- struct{}{}
			<-release
		}
		for i, it := range b.Items() {
			calls.add(it.ID)
			b.Done(i, "")
		}
		return nil
	}}
	s := disk(t, dir)
	r := start(t, s, engine.Options{Slots: 4}, action(a))
	b := submit(t, r, spec(a), numbers(3000))
	for range 4 {
		<-begun
	}
	stopped := make(chan error)
	go func() { stopped <- r.stop() }()
	select {
	case err := <-stopped:
		t.Fatalf("stopped while tasks run: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	open.Store(true)
	close(release)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if got := calls.sum(); got != 40 {
		t.Errorf("%d items were called by the first run, want those of 4 tasks", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r = start(t, disk(t, dir), engine.Options{}, action(a))
	b, err := r.Get(t.Context(), b.ID())
	if err != nil {
		t.Fatal(err)
	}
	wantCounts(t, wait(t, b), 3000, 0, 0)
	calls.wantEach(t, 3000, 1)
}

func TestATaskThatOutlivesTheDrainTimeIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gaveUp atomic.Bool
		a := weir.Action[int, string]{Name: "step", Timeout: time.Hour, Handle: func(ctx context.Context, b *weir.Batch[int, string]) error {
			if b.Bulk() == "" {
				t.Error("no bulk action")
			}
			<-ctx.Done()
			gaveUp.Store(true)
			return ctx.Err()
		}}
		s := memory()
		r := start(t, s, engine.Options{DrainFor: 10 * time.Second}, action(a))
		b := submit(t, r, spec(a), numbers(10))
		time.Sleep(time.Second)
		began := time.Now()
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 10*time.Second || took > 10*time.Second+5*time.Millisecond { // the end of the tenure is written last
			t.Errorf("Run returned after %v, want 10s", took)
		}
		synctest.Wait()
		if !gaveUp.Load() {
			t.Error("the task's context was not cancelled")
		}
		if _, err := b.Wait(t.Context()); !errors.Is(err, weir.ErrClosed) {
			t.Errorf("Wait on a stopped engine: %v, want ErrClosed", err)
		}
		fine := noop("step")
		r = start(t, s, engine.Options{}, action(fine))
		if b, err := r.Get(t.Context(), b.ID()); err != nil {
			t.Error(err)
		} else if rep := wait(t, b); rep.Steps[0].Attempts != 10 {
			t.Errorf("attempts = %d: an abandoned task must cost none", rep.Steps[0].Attempts)
		}
	})
}

func TestARateThatIsNoNumberIsRefused(t *testing.T) {
	for _, rate := range []float64{math.NaN(), math.Inf(1), -1} {
		a := noop("step")
		a.Resource.Rate = weir.Rate(rate)
		if err := open(t, memory(), engine.Options{}).Handle(a); err == nil || !strings.Contains(err.Error(), "resource") {
			t.Errorf("rate %v: error = %v, want a fault of the resource", rate, err)
		}
	}
}
