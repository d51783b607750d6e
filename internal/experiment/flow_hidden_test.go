package experiment

import (
	"testing"
	"time"

	"github.com/weirhq/weir/internal/flow"
)

func TestRefusalsAtRandomKeepWhatCanPass(t *testing.T) {
	for _, share := range []float64{0.01, 0.05, 0.1, 0.2, 0.3} {
		for seed := uint64(1); seed <= 5; seed++ {
			w := newStranger(hiddenLimits{random: share, takes: 30 * time.Millisecond}, 64, 1000, flow.Estimate, seed)
			w.run()
			if used, _ := w.shares(); used < 95 {
				t.Errorf("%g refused at random, seed %d: %.1f %% of what can pass does, want 95: %s", share, seed, used, w.state.Text)
			}
		}
	}
}

func TestAHiddenNumberAtOnceIsFound(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		w := newStranger(hiddenLimits{atOnce: 8, takes: 30 * time.Millisecond}, 64, 0, flow.Estimate, seed)
		w.run()
		used, refused := w.shares()
		if b := w.crowd.Bound(); used < 95 || refused > 0.5 || b < 7 || b > 9 {
			t.Errorf("8 at once, seed %d: bound %d, %.1f %% used and %.2f %% refused; want about 8, 95 at least and 0.5 at most", seed, b, used, refused)
		}
	}
}

func TestAQuotaOfAMinuteIsUsedWhenItOpensAgain(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		w := newStranger(hiddenLimits{quota: 10_000, takes: 30 * time.Millisecond}, 40, 1000, flow.Estimate, seed)
		w.run()
		if used, refused := w.shares(); used < 90 || refused > 0.8 {
			t.Errorf("10,000 a minute, seed %d: %.1f %% used and %.2f %% refused, want 90 at least and 0.8 at most", seed, used, refused)
		}
	}
}
