package partition

import (
	"slices"
	"testing"

	"github.com/weirhq/weir"
)

func (b *bench) marks() []Mark {
	b.t.Helper()
	list, err := Marks(b.rows)
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// A mark changes with the failures below it, and with nothing else.
func TestAMarkChangesWithFailures(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 2)
	create := func(id string) {
		b.message(envelope{Created: &Created{ID: weir.BulkID(id), Name: "n", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 2, Sizes: []uint16{2}}})
	}
	run := func(fail bool) {
		for tasks := b.settle(); len(tasks) > 0; tasks = b.settle() {
			for _, task := range tasks {
				r := &Result{Task: task}
				if fail {
					r.Outcomes = b.failing(task)
				} else {
					r.Outcomes = make([]weir.Outcome, len(task.Items))
				}
				b.m.Result(b.now, r)
			}
		}
	}
	create("ba_00000b0")
	run(false)
	if got := b.marks(); len(got) != 0 {
		t.Errorf("without failures there are marks %q", got)
	}
	create("ba_00000b1")
	create("ba_00001c1")
	run(true)
	first := b.marks()
	if len(first) != 2 || first[0].Start != "ba_00000" {
		t.Fatalf("the marks are %q, want one for each start", first)
	}
	ids, err := FailedOf(b.rows, first[0])
	if err != nil || len(ids) == 0 || slices.Contains(ids, "ba_00000b0") {
		t.Errorf("under the first mark are %v, %v", ids, err)
	}
	create("ba_00000b2")
	run(false)
	if got := b.marks(); !slices.Equal(got, first) {
		t.Errorf("after a bulk action without failures the marks are %q, want %q", got, first)
	}
	create("ba_00000b3")
	run(true)
	second := b.marks()
	if slices.Equal(second, first) {
		t.Errorf("after other failures the marks are still %q", second)
	}
	b.remove("ba_00000b1")
	b.settle()
	if got := b.marks(); slices.Equal(got, second) {
		t.Errorf("after a removal the marks are still %q", got)
	}
}
