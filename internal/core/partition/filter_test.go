package partition

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// filterOf runs the filter of a step: its items have numbers, and no data.
func filterOf(t *Task) []weir.Outcome {
	k := weir.Task{Outcomes: make([]weir.Outcome, len(t.Items))}
	for _, item := range t.Items {
		k.Items = append(k.Items, weir.TaskItem{No: t.Base + int64(item)})
	}
	if err := t.Step.Filter(context.Background(), &k); err != nil {
		panic(err)
	}
	return k.Outcomes
}

// everyTenth needs a call for every tenth item; the others end as said.
func everyTenth(kind weir.OutcomeKind) weir.Handler {
	return func(_ context.Context, t *weir.Task) error {
		for i := range t.Items {
			if t.Items[i].No%10 != 0 {
				t.Outcomes[i] = weir.Outcome{Kind: kind, Code: "condition"}
			}
		}
		return nil
	}
}

func TestItemsWithoutACallCostNothingOfTheRate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		kind  weir.OutcomeKind
		rate  weir.Rate
		own   float64
		calls int           // at most
		took  time.Duration // at most
	}{
		{"skipped, at a rate of the resource", weir.OutcomeDone, 200, 0, 210, 2200 * time.Millisecond},
		{"left out, at a rate of its own", weir.OutcomeLeftOut, 0, 200, 210, 2200 * time.Millisecond},
		{"failed, without a rate", weir.OutcomeFailed, 0, 0, 8, 400 * time.Millisecond},
	} {
		b := newBench(t)
		b.chains["c"] = steps(1, 100)
		b.chains["c"][0].Filter, b.chains["c"][0].Resource.Rate = everyTenth(tt.kind), tt.rate
		c := &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: 4000}
		if tt.own > 0 {
			c.Rates = map[string]float64{"a": tt.own}
		}
		b.message(envelope{Created: c})
		begin, calls := b.now, 0
		b.play(20*time.Millisecond, time.Millisecond, func(_ int64, task *Task) {
			calls++
			for _, item := range task.Items {
				if (task.Base+int64(item))%10 != 0 {
					t.Fatalf("%s: item %d was called", tt.name, task.Base+int64(item))
				}
			}
		})
		if took := time.Duration(b.now - begin); took > tt.took || calls > tt.calls {
			t.Errorf("%s: %d calls in %v, want at most %d in %v", tt.name, calls, took, tt.calls, tt.took)
		}
		_, s, err := ReadStatus(b.rows, "ba_x")
		if err != nil {
			t.Fatal(err)
		}
		want := map[weir.OutcomeKind]weir.StepCounts{
			weir.OutcomeDone:    {Done: 4000, Skipped: 3600, Attempts: 400},
			weir.OutcomeLeftOut: {Done: 400, LeftOut: 3600, Attempts: 400},
			weir.OutcomeFailed:  {Done: 400, Failed: 3600, Attempts: 400},
		}[tt.kind]
		want.Calls, want.Called = int64(calls), want.Attempts
		if s.Steps[0] != want || s.State != weir.BulkCompleted {
			t.Errorf("%s: it is %v with %+v, want %+v", tt.name, s.State, s.Steps[0], want)
		}
	}
}

// TestAFilterOfALaterStep: what the step before answered reaches the call, calls are
// filled, and what was skipped goes on.
func TestAFilterOfALaterStep(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(3, 50)
	b.chains["c"][1].Filter = everyTenth(weir.OutcomeDone)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a", "b", "c"}, Items: 3000}})
	calls := [3]int{}
	items := [3]int{}
	b.play(20*time.Millisecond, time.Millisecond, func(_ int64, task *Task) {
		calls[task.StepNo]++
		items[task.StepNo] += len(task.Items)
		for i, item := range task.Items {
			want := fmt.Sprint(item)
			if task.StepNo == 2 && (task.Base+int64(item))%10 != 0 || task.StepNo == 0 {
				want = ""
			}
			if task.StepNo > 0 && string(task.Previous[i]) != want {
				t.Fatalf("step %d was given %q, want %q", task.StepNo, task.Previous[i], want)
			}
		}
	})
	if items != [3]int{3000, 300, 3000} || calls[1] > 9 {
		t.Errorf("calls %v for %v items, want at most 9 calls for 300 items at the second step", calls, items)
	}
}

func TestAFilterIsAskedAgainByTheNextOwner(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 10)
	b.chains["c"][0].Filter = everyTenth(weir.OutcomeLeftOut)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: 2000}})
	filtered := b.settle()
	if len(filtered) != 1 || !filtered[0].Filter || len(filtered[0].Items) != 1024 {
		t.Fatalf("%d tasks, want one filter of a block", len(filtered))
	}
	b.m.Result(b.now, &Result{Task: filtered[0], Outcomes: filterOf(filtered[0])})
	tasks := b.settle() // with the filter of the next block
	b.m.Result(b.now, &Result{Task: tasks[0], Failure: &Failure{Code: "boom"}})
	b.settle()
	b.reload()
	called := 0
	b.play(time.Millisecond, time.Millisecond, func(_ int64, task *Task) {
		if called += len(task.Items); task.Attempt > 2 {
			t.Errorf("attempt %d", task.Attempt)
		}
	})
	if _, s, err := ReadStatus(b.rows, "ba_x"); err != nil || s.Done != 200 || s.LeftOut != 1800 || called != 200 {
		t.Errorf("%d done and %d left out with %d items called, %v; want 200, 1800, 200", s.Done, s.LeftOut, called, err)
	}
}

func TestAFilterThatFailsEndsNothing(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 2000)
	b.chains["c"][0].Filter = everyTenth(weir.OutcomeLeftOut)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: 30}})
	b.m.Result(b.now, &Result{Task: b.settle()[0], Failure: &Failure{Code: "store", Refused: true, Ours: true, Uncalled: true}})
	if got := b.settle(); len(got) != 0 {
		t.Fatalf("%d tasks start at once after the items could not be read", len(got))
	}
	b.now += 1e9
	tasks := b.settle()
	if len(tasks) != 1 || !tasks[0].Filter {
		t.Fatalf("%d tasks a second later, want the filter", len(tasks))
	}
	b.m.Result(b.now, &Result{Task: tasks[0], Failure: &Failure{Code: "panic", Ours: true}})
	if got := b.settle(); len(got) != 1 || got[0].Filter || len(got[0].Items) != 30 {
		t.Errorf("%d tasks after a filter that panicked, want one call of all items", len(got))
	}
}

func TestWhatIsCancelledDuringItsFilterIsCancelled(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 10)
	b.chains["c"][0].Filter = everyTenth(weir.OutcomeLeftOut)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: 2000}})
	filtered := b.settle()
	b.message(envelope{Command: &Command{ID: "ba_x", Verb: Cancel}})
	b.settle()
	if s := b.m.bulks["ba_x"]; s == nil || s.state != weir.BulkCancelling {
		t.Fatal("it has ended while its items are being read")
	}
	b.m.Result(b.now, &Result{Task: filtered[0], Outcomes: filterOf(filtered[0])})
	b.settle()
	if _, s, err := ReadStatus(b.rows, "ba_x"); err != nil || s.State != weir.BulkCancelled || s.Steps[0].Cancelled != 2000 || b.m.inFlight != 0 {
		t.Errorf("it is %v with %+v, %v", s.State, s.Steps[0], err)
	}
}
