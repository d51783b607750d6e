package partition

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/fault"
)

// failing answers that each item failed, for a reason of its own but for every tenth.
func (b *bench) failing(t *Task) []weir.Outcome {
	outcomes := make([]weir.Outcome, len(t.Items))
	for i, item := range t.Items {
		outcomes[i] = weir.Outcome{Kind: weir.OutcomeFailed, Code: "closed", Message: fmt.Sprintf("account %d is closed", item)}
		if item%10 == 3 {
			outcomes[i] = weir.Outcome{Kind: weir.OutcomeFailed, Code: "late", Message: "too late"}
		}
	}
	return outcomes
}

func TestFailuresAreCountedByGroupInTheCommitThatHasThem(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 10)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 80}})
	tasks := b.settle()
	began := b.now
	for i, task := range tasks {
		b.m.Result(b.now, &Result{Task: task, Outcomes: b.failing(task)})
		if i == 3 {
			b.settle()
		}
	}
	b.advance() // the rest is in no commit that was confirmed
	first := mustGroups(t, b)
	if n := first[0].Count + first[1].Count; n != 40 {
		t.Errorf("%d failures are counted, want the 40 that are durable: %+v", n, first)
	}
	b.reload()
	for tasks := b.settle(); len(tasks) > 0; tasks = b.settle() {
		for _, task := range tasks {
			b.m.Result(b.now, &Result{Task: task, Outcomes: b.failing(task)})
		}
	}
	got := mustGroups(t, b)
	for i := range got {
		if got[i].First < began || got[i].Last <= got[i].First || got[i].Last > b.now {
			t.Errorf("group %d: between %d and %d, want times from %d to %d", i, got[i].First, got[i].Last, began, b.now)
		}
		got[i].First, got[i].Last = 0, 0
	}
	want := []fault.Group{
		{Code: "closed", Message: "account <n> is closed", Count: 72, Item: 0, Sample: "account 0 is closed"},
		{Code: "late", Message: "too late", Count: 8, Item: 3, Sample: "too late"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("groups after a takeover (-want +got):\n%s", d)
	}
}

func TestABulkActionWithoutFailuresHasNoGroups(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 10)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 30}})
	for _, task := range b.settle() {
		b.m.Result(b.now, &Result{Task: task, Outcomes: b.allDone(task)})
	}
	b.settle()
	for key := range b.rows {
		if key[0] == kindGroup {
			t.Errorf("row %q is there", key)
		}
	}
}

func mustGroups(t *testing.T, b *bench) []fault.Group {
	t.Helper()
	list, err := ReadGroups(b.rows, "ba_x")
	if err != nil {
		t.Fatal(err)
	}
	return fault.Merge(list)
}
