package experiment

import (
	"testing"
	"time"
)

// found runs a downstream with hidden limits in front of eight partitions.
func found(t *testing.T, h hiddenLimits, seed uint64) *stranger {
	t.Helper()
	w := newStranger(h, setups()[1], seed)
	w.span = min(w.span, time.Minute)
	if h.quota > 0 {
		w.span = 2*time.Minute + settledAfter
	}
	w.run()
	return w
}

func TestRefusalsAtRandomKeepWhatCanPass(t *testing.T) {
	for _, share := range []float64{0.05, 0.3} {
		w := found(t, hiddenLimits{random: share, takes: 30 * time.Millisecond}, 1)
		if used, _ := w.shares(); used < 95 {
			t.Errorf("%g refused at random: %.1f %% of what can pass does, want 95", share, used)
		}
	}
}

func TestAHiddenNumberAtOnceIsFound(t *testing.T) {
	w := found(t, hiddenLimits{atOnce: 8, takes: 30 * time.Millisecond}, 2)
	used, refused := w.shares()
	if b := w.each[0].can.Resources()[0].State(w.each[0].Now()).Bearable; used < 95 || refused > 0.5 || b < 7 || b > 9 {
		t.Errorf("8 at once: bound %d, %.1f %% used and %.2f %% refused; want about 8, 95 at least and 0.5 at most", b, used, refused)
	}
}

func TestAHiddenBucketIsUsed(t *testing.T) {
	for _, burst := range []float64{2, 20} {
		w := found(t, hiddenLimits{rate: 200, burst: burst, takes: 30 * time.Millisecond}, 3)
		if used, refused := w.shares(); used < 95 || refused > 0.5 {
			t.Errorf("200/s with a burst of %g: %.1f %% used and %.2f %% refused, want 95 at least and 0.5 at most", burst, used, refused)
		}
	}
}

func TestAHiddenBucketIsUsedInBatches(t *testing.T) {
	for _, rate := range []float64{0, 1000} {
		w := newStranger(hiddenLimits{rate: 200, burst: 20, takes: 50 * time.Millisecond}, setup{nodes: 1, partitions: 8, workers: 64, rate: rate, batch: 10, from: settledAfter}, 52)
		w.run()
		if used, refused := w.shares(); used < 95 || refused > 0.5 {
			t.Errorf("%g/s configured: %.1f %% used and %.2f %% refused, want 95 at least and 0.5 at most", rate, used, refused)
		}
	}
}

func TestAQuotaOfAMinuteIsUsedWhenItOpensAgain(t *testing.T) {
	w := found(t, hiddenLimits{quota: 10_000, takes: 30 * time.Millisecond}, 4)
	if used, refused := w.shares(); used < 95 || refused > 0.6 {
		t.Errorf("10,000 a minute: %.1f %% used and %.2f %% refused, want 95 at least and 0.6 at most", used, refused)
	}
}

// What the configured rate lets start in a second can arrive in a little less.
func TestALimitThatCountsArrivalsAtTheConfiguredRateIsUsed(t *testing.T) {
	for seed := range uint64(10) {
		w := newStranger(hiddenLimits{second: 300, takes: 300 * time.Millisecond}, setup{nodes: 1, partitions: 8, workers: 64, rate: 300, batch: 100, from: settledAfter}, seed)
		w.run()
		if used, refused := w.shares(); used < 94 || refused > 1.5 {
			t.Errorf("seed %d: %.1f %% used and %.2f %% refused, want 94 at least and 1.5 at most", seed, used, refused)
		}
	}
}
