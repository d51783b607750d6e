package retry

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRetriesKeepToTheirShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Budget
		rate := rapid.Float64Range(0.5, 5000).Draw(t, "rate")
		now, from := int64(1_800_000_000e9), int64(0)
		sum := 0.0
		for range rapid.IntRange(1, 150).Draw(t, "tasks") {
			now = max(now+int64(rapid.IntRange(0, 100).Draw(t, "later"))*1e6, b.Next())
			cost := rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, 200)).Draw(t, "cost")
			if !b.Take(now, cost, rate) {
				t.Fatal("a retry may not start at the time that was told")
			}
			if b.Take(now, 1, rate) {
				t.Fatal("another one may start at the same time")
			}
			if from == 0 {
				from = now
			}
			if allowed := Portion * rate * float64(now-from) / 1e9; sum > allowed*(1+1e-6)+1e-3 {
				t.Fatalf("retries of %v items in %v, want at most %v", sum, time.Duration(now-from), allowed)
			}
			sum += float64(cost)
		}
	})
}

func TestAnAbsurdlySlowResourceStaysWithinTime(t *testing.T) {
	var b Budget
	now := int64(1_800_000_000e9)
	if !b.Take(now, math.MaxInt32, 1e-300) || b.Next() <= now {
		t.Errorf("the next one may start at %d, now is %d", b.Next(), now)
	}
}
