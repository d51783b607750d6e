package partition

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// A retry that a cancel drops was no repeat, and the item was called once.
func TestARepeatIsCountedWhenItWasMade(t *testing.T) {
	const done, retry, refused = weir.OutcomeDone, weir.OutcomeRetry, weir.OutcomeRefused
	type counts struct{ attempts, called, repeats int64 }
	for _, tt := range []struct {
		name         string
		first, again Result
		one, two     counts // after the first attempt, and after the next
	}{
		{"a timeout", Result{Failure: &Failure{Code: "timeout"}}, Result{Outcomes: []weir.Outcome{{Kind: done}, {Kind: retry}}}, counts{2, 2, 0}, counts{4, 2, 2}},
		{"a refused call", Result{Failure: &Failure{Refused: true}}, Result{Outcomes: []weir.Outcome{{Kind: done}, {Kind: done}}}, counts{}, counts{2, 2, 0}},
		{"refused items", Result{Outcomes: []weir.Outcome{{Kind: refused}, {Kind: refused}}}, Result{Outcomes: []weir.Outcome{{Kind: done}, {Kind: done}}}, counts{}, counts{2, 2, 0}},
		{"an answer that asks for another attempt", Result{Outcomes: []weir.Outcome{{Kind: retry}, {Kind: retry}}}, Result{Failure: &Failure{Code: "timeout"}}, counts{2, 2, 0}, counts{4, 2, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, tasks := unclearBench(t, 2)
			look := func(when string, want counts) {
				t.Helper()
				b.settle()
				s := b.m.bulks["A"].status.Steps[0]
				if got := (counts{s.Attempts, s.Called, s.Repeats()}); got != want {
					t.Errorf("after the %s attempt %+v, want %+v", when, got, want)
				}
			}
			first, again := tt.first, tt.again
			first.Task, first.Service = tasks[0], 1e6
			b.m.Result(b.now, &first)
			look("first", tt.one)
			b.reload() // the row tells that there was an attempt
			b.now += int64(2 * time.Hour)
			next := b.settle()
			if len(next) != 1 {
				t.Fatalf("%d tasks are tried again, want 1", len(next))
			}
			again.Task, again.Service = next[0], 1e6
			if b.m.Result(b.now, &again); b.m.bulks["A"] == nil {
				return
			}
			look("next", tt.two)
			b.cancel()
			if _, s, err := ReadStatus(b.rows, "A"); err != nil || s.Steps[0].Repeats() != tt.two.repeats {
				t.Errorf("after the cancel %+v, %v, want %d repeats", s.Steps[0], err, tt.two.repeats)
			}
		})
	}
}
