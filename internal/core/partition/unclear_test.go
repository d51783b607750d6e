package partition

import (
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
)

// unclearBench runs a bulk action of 8 items in tasks of 2, and returns the first of them.
func unclearBench(t *testing.T, items int64) (*bench, []*Task) {
	b := newBench(t)
	b.node = "node-1"
	b.reload()
	b.chains["c"] = []weir.Step{{Name: "award", Action: "award", BatchSize: 2, Resource: weir.Resource{Name: "r", Concurrency: 2},
		Retry: weir.Backoff{MaxAttempts: 5, Base: time.Hour, Cap: time.Hour}}}
	b.message(envelope{Created: &Created{ID: "A", Tenant: "t", Chain: "c", Steps: []string{"award"}, Items: items, Submitted: b.now}})
	return b, b.settle()
}

// wantUnclear compares the items of a block that a cancelled bulk action shows as called without a clear answer, and
// their count.
func (b *bench) wantUnclear(count int64, items ...int) {
	b.t.Helper()
	spec, s, err := ReadStatus(b.rows, "A")
	if err != nil {
		b.t.Fatal(err)
	}
	if s.State != weir.BulkCancelled || s.Steps[0].Unclear != count {
		b.t.Errorf("%v with %d unclear items, want cancelled with %d", s.State, s.Steps[0].Unclear, count)
	}
	state, err := ReadBlock(b.rows, spec, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	if got := slices.Collect(state.Unclear.All()); !slices.Equal(got, items) {
		b.t.Errorf("unclear items = %v, want %v", got, items)
	}
}

func (b *bench) cancel() {
	b.message(envelope{Command: &Command{ID: "A", Verb: Cancel}})
	b.settle()
}

func TestACancelKeepsThatItemsWereCalledWithoutAClearAnswer(t *testing.T) {
	const done, retry, none, refused = weir.OutcomeDone, weir.OutcomeRetry, weir.OutcomeNone, weir.OutcomeRefused
	for _, tt := range []struct {
		name string
		r    Result
		want []int
	}{
		{"a timeout", Result{Failure: &Failure{Code: "timeout"}}, []int{0, 1}},
		{"a call that was cut off from this side", Result{Failure: &Failure{Code: "cancelled", Ours: true, Uncalled: true}}, []int{0, 1}},
		{"no connection", Result{Failure: &Failure{Code: "unreachable", Undone: true}}, nil},
		{"a busy downstream", Result{Failure: &Failure{Code: "refused", Refused: true}}, nil},
		{"an answer without one of the items", Result{Outcomes: []weir.Outcome{{Kind: done}, {Kind: none}}}, []int{1}},
		{"answers that ask for another attempt", Result{Outcomes: []weir.Outcome{{Kind: retry}, {Kind: refused}}}, nil},
	} {
		for _, late := range []bool{false, true} {
			name := tt.name
			if late {
				name += ", after the cancel"
			}
			t.Run(name, func(t *testing.T) {
				b, tasks := unclearBench(t, 8)
				r := tt.r
				r.Task, r.Service = tasks[0], 1e6
				if late {
					b.cancel()
				}
				b.m.Result(b.now, &r)
				b.m.Result(b.now, &Result{Task: tasks[1], Outcomes: b.allDone(tasks[1]), Service: 1e6})
				for _, task := range b.settle() {
					b.m.Result(b.now, &Result{Task: task, Outcomes: b.allDone(task), Service: 1e6})
				}
				b.settle()
				if !late {
					b.cancel()
				}
				b.wantUnclear(int64(len(tt.want)), tt.want...)
			})
		}
	}
}

func TestAnAnswerMakesAnItemClear(t *testing.T) {
	b, tasks := unclearBench(t, 4)
	b.m.Result(b.now, &Result{Task: tasks[0], Failure: &Failure{Code: "timeout"}, Service: 1e6})
	b.settle()
	if s := b.m.bulks["A"].status.Steps[0].Unclear; s != 2 {
		t.Fatalf("%d unclear items while it runs, want 2", s)
	}
	b.now += int64(2 * time.Hour)
	again := b.settle()
	if len(again) != 1 {
		t.Fatalf("%d tasks are tried again, want 1", len(again))
	}
	b.m.Result(b.now, &Result{Task: again[0], Outcomes: []weir.Outcome{{Kind: weir.OutcomeDone}, {Kind: weir.OutcomeRetry}}, Service: 1e6})
	b.settle()
	b.m.Result(b.now, &Result{Task: tasks[1], Outcomes: b.allDone(tasks[1]), Service: 1e6})
	b.settle()
	b.cancel()
	b.wantUnclear(0)
}

// The last attempt of an item may do nothing, as without a connection, after one that may have done it: its message says so.
func TestAFailedItemKeepsThatItWasCalledWithoutAClearAnswer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first Failure
		want  string
	}{
		{"a timeout", Failure{Code: "timeout", Message: "timeout: no answer within 3s"}, "after a call without a clear answer, unreachable: dial tcp"},
		{"no connection", Failure{Code: "unreachable", Message: "unreachable: dial tcp", Undone: true}, "unreachable: dial tcp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, _ := unclearBench(t, 0)
			b.chains["c"][0].Retry.MaxAttempts, b.chains["c"][0].BatchSize = 2, 1
			b.message(envelope{Created: &Created{ID: "B", Tenant: "t", Chain: "c", Steps: []string{"award"}, Items: 1, Submitted: b.now}})
			first := tt.first
			b.m.Result(b.now, &Result{Task: b.settle()[0], Failure: &first, Service: 1e6})
			b.settle()
			b.now += int64(2 * time.Hour)
			b.m.Result(b.now, &Result{Task: b.settle()[0], Failure: &Failure{Code: "unreachable", Message: "unreachable: dial tcp", Undone: true}, Service: 1e6})
			b.settle()
			groups, err := ReadGroups(b.rows, "B")
			if err != nil || len(groups) != 1 || groups[0].Sample != tt.want {
				t.Errorf("error groups = %+v, %v, want one with the message %q", groups, err, tt.want)
			}
		})
	}
}

func TestACancelAfterACrashSaysWhatMayHaveBeenInACall(t *testing.T) {
	takeover := func(b *bench) []*Task { b.node = "node-2"; b.reload(); return b.settle() }
	end := func(b *bench, tasks []*Task, f Failure) {
		for _, task := range tasks {
			b.m.Result(b.now, &Result{Task: task, Failure: &f, Service: 1e6})
		}
		b.settle()
	}
	for _, tt := range []struct {
		name string
		do   func(b *bench)
	}{
		{"cancelled after the takeover", func(b *bench) {
			again := takeover(b)
			b.cancel()
			end(b, again, Failure{Code: "timeout"})
		}},
		{"cancelled before the crash", func(b *bench) {
			b.cancel()
			takeover(b)
		}},
		{"refused after the takeover", func(b *bench) {
			end(b, takeover(b), Failure{Code: "refused", Refused: true})
			b.cancel()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, tasks := unclearBench(t, 6)
			b.m.Result(b.now, &Result{Task: tasks[1], Outcomes: b.allDone(tasks[1]), Service: 1e6})
			b.settle()
			tt.do(b)
			b.wantUnclear(4, 0, 1, 4, 5)
		})
	}
}

func TestWhatNeverStartedWasNotCalled(t *testing.T) {
	b := newBench(t)
	b.node = "node-1"
	b.reload()
	b.chains["c"] = []weir.Step{{Name: "award", Action: "award", BatchSize: 2, Resource: weir.Resource{Name: "r"}}}
	b.message(envelope{Created: &Created{ID: "A", Tenant: "t", Chain: "c", Steps: []string{"award"}, Items: 6, Submitted: b.now, Hold: true}})
	b.settle()
	b.node = "node-2"
	b.reload()
	b.cancel()
	if _, s, err := ReadStatus(b.rows, "A"); err != nil || s.State != weir.BulkCancelled || s.Steps[0].Unclear != 0 {
		t.Errorf("status = %+v, %v, want cancelled without unclear items", s, err)
	}
}

func TestAfterACrashItIsForetoldWhatACancelWillCallUnclear(t *testing.T) {
	for _, items := range []int64{6, 3 * block.Size} {
		b, tasks := unclearBench(t, items)
		b.m.Result(b.now, &Result{Task: tasks[1], Outcomes: b.allDone(tasks[1]), Service: 1e6})
		b.settle()
		if _, s, err := ReadStatus(b.rows, "A"); err != nil || s.AtRisk != 0 {
			t.Fatalf("%d items at risk without a crash, %v", s.AtRisk, err)
		}
		b.node = "node-2"
		b.reload()
		b.settle()
		_, s, err := ReadStatus(b.rows, "A")
		if err != nil || s.AtRisk == 0 {
			t.Fatalf("%d items at risk, %v, want some", s.AtRisk, err)
		}
		foretold := s.AtRisk + s.Steps[0].Unclear
		b.cancel()
		if _, s, err = ReadStatus(b.rows, "A"); err != nil || s.AtRisk != 0 || s.Steps[0].Unclear != foretold {
			t.Errorf("%d items: a cancel calls %d unclear and %d at risk, %v; %d were foretold", items, s.Steps[0].Unclear, s.AtRisk, err, foretold)
		}
	}
}
