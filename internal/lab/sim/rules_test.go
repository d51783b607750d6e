package sim

import (
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

func changedTruth() *truth {
	return &truth{
		spec: partition.Created{Tier: weir.TierLow, Concurrency: 5, Rates: map[string]float64{"a": 10}, Shards: []int{3, 1}},
		changes: []*weir.Rules{
			{Concurrency: new(2)},
			{Rates: map[string]weir.Rate{"a": 0, "b": 7}, Priority: new(1)},
			{Tier: new(weir.TierHigh), StopOn: &weir.StopRule{MaxFailures: 3}},
		},
	}
}

func TestRulesAreThoseOfAllChangesUpToThere(t *testing.T) {
	b := changedTruth()
	for k, want := range []ruleTruth{
		{tier: weir.TierLow, concurrency: 5, rates: map[string]float64{"a": 10}},
		{tier: weir.TierLow, concurrency: 2, rates: map[string]float64{"a": 10}},
		{tier: weir.TierLow, priority: 1, concurrency: 2, rates: map[string]float64{"b": 7}},
		{tier: weir.TierHigh, priority: 1, concurrency: 2, rates: map[string]float64{"b": 7}, stopOn: weir.StopRule{MaxFailures: 3}},
	} {
		if got := b.version(k); !got.equal(&want) {
			t.Errorf("after %d changes the rules are %+v, want %+v", k, *got, want)
		}
	}
}

func TestWhatMayBeInEffectIsFromTheStoredRulesToTheNewest(t *testing.T) {
	b := changedTruth()
	rate := func(r *ruleTruth) float64 { return r.rates["a"] }
	tasks := func(r *ruleTruth) float64 { return float64(r.concurrency) }
	for _, tt := range []struct {
		home, away  int // changes stored
		rate, tasks float64
	}{
		{0, 0, 0, 5}, // a rate was taken away, and that may have been heard
		{3, 1, 0, 2},
		{3, 0, 0, 5},
		{3, 3, 0, 2},
	} {
		b.stored = map[int]int{3: tt.home, 1: tt.away}
		if got := b.most(rate); got != tt.rate {
			t.Errorf("with %d and %d changes stored the rate is %v, want %v", tt.home, tt.away, got, tt.rate)
		}
		if got := b.most(tasks); got != tt.tasks {
			t.Errorf("with %d and %d changes stored %v tasks may run, want %v", tt.home, tt.away, got, tt.tasks)
		}
	}
	b.changes = b.changes[:1]
	b.stored = nil
	if got := b.most(rate); got != 10 {
		t.Errorf("the rate that no change touched is %v, want 10", got)
	}
}
