package partition

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/limit"
)

// flight is a task and when it ends.
type flight struct {
	task *Task
	ends int64
}

// play runs the machine until nothing is left to do: calls take a time, commits are
// confirmed at once, and the loop wakes up late by up to late. Each call is told. A
// filter takes a millisecond.
func (b *bench) play(took, late time.Duration, started func(now int64, t *Task)) {
	b.t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var flying []flight
	for len(b.m.bulks) > 0 {
		do := b.m.Advance(b.now)
		for _, task := range do.Start {
			if task.Filter {
				flying = append(flying, flight{task, b.now + 1e6})
				continue
			}
			started(b.now, task)
			flying = append(flying, flight{task, b.now + int64(took)})
		}
		slices.SortStableFunc(flying, func(a, b flight) int { return cmp.Compare(a.ends, b.ends) })
		if b.flying = do.Commit; b.flying != nil {
			b.commit()
			continue
		}
		wake := do.Wake
		if len(flying) > 0 {
			wake = min(wake, flying[0].ends)
		}
		if wake == Never {
			b.t.Fatal("it stands still")
		}
		b.now = max(b.now, wake) + r.Int64N(int64(late))
		for len(flying) > 0 && flying[0].ends <= b.now {
			task := flying[0].task
			outcomes := b.allDone(task)
			if task.Filter {
				outcomes = filterOf(task)
			}
			b.m.Result(b.now, &Result{Task: task, Outcomes: outcomes, Service: int64(took)})
			flying = flying[1:]
		}
	}
	b.settle()
}

func TestABulkActionReachesItsOwnRateAndNeverExceedsIt(t *testing.T) {
	for _, tt := range []struct{ items, rate float64 }{{10_000, 200}, {1_000, 7}, {3_000, 31.5}} {
		b := newBench(t)
		b.chains["c"] = steps(1, 50)
		cfg := b.config()
		cfg.Capacity = capacity.New(capacity.Config{Slots: 64, NoFlow: true}).Join(nil)
		b.m = New(cfg, 0)
		b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: int64(tt.items), Rates: map[string]float64{"a": tt.rate}}})
		quota, window := limit.PerWindow(tt.rate)
		var starts []flight
		var first, last int64
		used := 0
		b.play(150*time.Millisecond, 5*time.Millisecond, func(now int64, task *Task) {
			n := len(task.Items)
			for len(starts) > 0 && starts[0].ends <= now-int64(window) {
				used -= len(starts[0].task.Items)
				starts = starts[1:]
			}
			starts = append(starts, flight{&Task{Items: make([]uint16, n)}, now})
			if used += n; used > int(quota) {
				t.Fatalf("%v/s: %d items started within %v", tt.rate, used, window)
			}
			if first == 0 {
				first = now
			}
			last = now
		})
		if got := (tt.items - tt.rate/100) / (float64(last-first) / 1e9); got < 0.99*tt.rate {
			t.Errorf("%v/s: %.2f items a second were started", tt.rate, got)
		}
	}
}

func TestAnOwnRateThatWasAllButStoppedCanBeRaised(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 1)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: 100, Rates: map[string]float64{"a": 1e-5}}})
	if got := len(b.settle()); got != 1 {
		t.Fatalf("%d tasks at a rate of one item a day, want 1", got)
	}
	b.reload()
	b.now += 10e9
	if got := len(b.settle()); got != 0 {
		t.Fatalf("%d tasks after a takeover, want none: the last owner may have started one", got)
	}
	begin := b.now
	b.message(envelope{Command: &Command{ID: "ba_x", Verb: Change, Rules: &weir.Rules{Rates: map[string]weir.Rate{"a": 50}}}})
	b.play(time.Millisecond, time.Millisecond, func(int64, *Task) {})
	if took := time.Duration(b.now - begin); took < 1800*time.Millisecond || took > 3*time.Second {
		t.Errorf("100 items at 50/s took %v", took)
	}
}
