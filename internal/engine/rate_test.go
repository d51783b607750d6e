package engine_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// limitedTo is an action whose resource takes so many items a second.
func limitedTo(rate float64) weir.Action[int, string] {
	a := slow("limited", 10*time.Millisecond)
	a.Resource.Rate = weir.PerSecond(rate)
	return a
}

// wantSpeed checks rate and remaining time, as the store and a follower tell them.
func wantSpeed(t *testing.T, when string, b *engine.BulkAction, followed *weir.Progress, rate float64) {
	t.Helper()
	synctest.Wait()
	now, err := b.Now(t.Context())
	must(t, err)
	for _, p := range []*weir.Progress{&now, followed} {
		left := float64(p.Counts.Total-p.Counts.Ended()) / max(rate, 1)
		if rate == 0 {
			left = 0
		}
		if math.Abs(p.Rate-rate) > rate/10 || math.Abs(p.Remaining.Seconds()-left) > left/10 {
			t.Errorf("%s: rate %.1f, remaining %v; want %.0f and %.0fs", when, p.Rate, p.Remaining, rate, left)
		}
	}
}

// followed keeps the newest progress of a bulk action.
func followed(t *testing.T, b *engine.BulkAction) *weir.Progress {
	var newest weir.Progress
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for p := range b.Progress(ctx) {
			newest = p
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	return &newest
}

// TestTimeInAPauseIsNotPartOfTheRate: neither while the pause lasts nor after it.
func TestTimeInAPauseIsNotPartOfTheRate(t *testing.T) {
	for name, pause := range map[string]func(t *testing.T, r *rig, b *engine.BulkAction, on bool){
		"tenant": func(t *testing.T, r *rig, _ *engine.BulkAction, on bool) {
			must(t, r.Operator().SetLimits(t.Context(), func(l *weir.Limits) { l.Tenants["default"] = weir.TenantLimits{Paused: on} }))
		},
		"bulk action": func(t *testing.T, _ *rig, b *engine.BulkAction, on bool) {
			if on {
				do(t, b.Pause)
			} else {
				do(t, b.Resume)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := limitedTo(100)
				r := start(t, memory(), engine.Options{}, action(a))
				b := submit(t, r, spec(a), numbers(20_000))
				seen := followed(t, b)
				time.Sleep(10 * time.Second)
				wantSpeed(t, "before the pause", b, seen, 100)
				pause(t, r, b, true)
				time.Sleep(time.Minute)
				wantSpeed(t, "in the pause", b, seen, 0)
				pause(t, r, b, false)
				time.Sleep(3 * time.Second)
				wantSpeed(t, "3s after the pause", b, seen, 100)
			})
		})
	}
}

// TestTheRateAfterATakeoverIsThatOfTheNewOwner: the time without an owner does not count.
func TestTheRateAfterATakeoverIsThatOfTheNewOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := limitedTo(100), memory()
		first := start(t, s, engine.Options{}, action(a))
		id := submit(t, first, spec(a), numbers(20_000)).ID()
		time.Sleep(10 * time.Second)
		must(t, first.stop())
		time.Sleep(time.Minute)
		r := start(t, s, engine.Options{}, action(a))
		time.Sleep(3 * time.Second)
		b, err := r.Get(t.Context(), id)
		must(t, err)
		p, err := b.Now(t.Context())
		must(t, err)
		if p.Rate < 80 || p.Rate > 120 {
			t.Errorf("rate %.1f after the takeover, want about 100", p.Rate)
		}
	})
}

// TestTheRateAfterAChangeOfTheLimitIsWhatWasSeenSince: and not an average with what was before.
func TestTheRateAfterAChangeOfTheLimitIsWhatWasSeenSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := limitedTo(400)
		r := start(t, memory(), engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(50_000))
		time.Sleep(10 * time.Second)
		lower := weir.PerSecond(50)
		must(t, r.Operator().SetLimits(t.Context(), func(l *weir.Limits) { l.Resources["limited"] = weir.ResourceLimits{Rate: &lower} }))
		time.Sleep(4 * time.Second)
		p, err := b.Now(t.Context())
		must(t, err)
		if p.Rate > 60 {
			t.Errorf("rate %.1f 4s after the limit became 50/s", p.Rate)
		}
	})
}

// TestAnotherNodeTellsFromWhenItsNumbersAre: the owner may be dead, and nothing has been written since.
func TestAnotherNodeTellsFromWhenItsNumbersAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := limitedTo(100), memory()
		owner, other := start(t, s, engine.Options{}, action(a)), open(t, s, engine.Options{}, action(a))
		id := submit(t, owner, spec(a), numbers(20_000)).ID()
		time.Sleep(10 * time.Second)
		must(t, owner.stop())
		ended := time.Now()
		time.Sleep(time.Minute)
		b, err := other.Get(t.Context(), id)
		must(t, err)
		p, err := b.Now(t.Context())
		must(t, err)
		if p.At.IsZero() || p.At.After(ended) || ended.Sub(p.At) > time.Second {
			t.Errorf("the numbers are of %v, and the owner ended at %v", p.At, ended)
		}
	})
}
