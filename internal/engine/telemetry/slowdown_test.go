package telemetry

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestTheTimeThatABulkActionNeedsAlone(t *testing.T) {
	calls := func(n int64, each time.Duration) service { return service{n, time.Duration(n) * each} }
	steps := func(calls, items int64) weir.StepCounts { return weir.StepCounts{Calls: calls, Attempts: items} }
	for _, tt := range []struct {
		name  string
		pace  pace
		steps []weir.StepCounts
		want  time.Duration
	}{
		{"one call", pace{calls: []service{calls(1, time.Second)}}, []weir.StepCounts{steps(1, 10)}, time.Second},
		{"one call at a low rate", pace{rate: 1, calls: []service{calls(1, time.Second)}}, []weir.StepCounts{steps(1, 10)}, time.Second},
		{"as many at once as there are slots", pace{calls: []service{calls(41, time.Second)}}, []weir.StepCounts{steps(41, 41)}, 5 * time.Second},
		{"one after another", pace{concurrency: 1, calls: []service{calls(41, time.Second)}}, []weir.StepCounts{steps(41, 41)}, 41 * time.Second},
		{"a rate", pace{rate: 10, calls: []service{calls(100, time.Millisecond)}}, []weir.StepCounts{steps(100, 1000)}, 99001 * time.Millisecond},
		{"calls of other nodes take as long as those seen", pace{calls: []service{calls(1, time.Second)}}, []weir.StepCounts{steps(41, 41)}, 5 * time.Second},
		{"two steps at once, the slower one counts", pace{calls: []service{calls(21, time.Second), calls(21, 2*time.Second)}},
			[]weir.StepCounts{steps(21, 21), steps(21, 21)}, 7 * time.Second},
		{"none was seen", pace{calls: []service{{}}}, []weir.StepCounts{steps(5, 5)}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.pace.alone(tt.steps, 10); (got - tt.want).Abs() > time.Millisecond {
				t.Errorf("alone = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSizeClassesHaveBoundsThatBelongToThem(t *testing.T) {
	for items, want := range map[int64]string{1: "up_to_1k", 1000: "up_to_1k", 1001: "up_to_10k", 100_000: "up_to_100k", 100_001: "above_100k"} {
		if got := sizeClasses[sizeClass(items)].label; got != want {
			t.Errorf("%d items are of the class %s, want %s", items, got, want)
		}
	}
}
