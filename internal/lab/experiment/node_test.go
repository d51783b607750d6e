package experiment

import (
	"testing"

	"github.com/weirhq/weir/internal/core/partition"
)

// The node runs every item of every step once, and no faster than its rate.
func TestNodeRunsAChainToItsEnd(t *testing.T) {
	n := newNode(2, step("a", 1000), step("b", 0))
	n.service = func(*partition.Task) int64 { return 5 * ms }
	started, first := map[int]int{}, newMeter(1000, epoch)
	n.onStart = func(task *partition.Task) {
		if started[task.StepNo] += len(task.Items); task.StepNo == 0 {
			first.count(n.Now(), int64(len(task.Items)))
		}
	}
	n.submit(0, partition.Created{ID: "ba_1", Tenant: "t", Items: 2000})
	n.submit(1, partition.Created{ID: "ba_2", Tenant: "u", Items: 1000})
	n.run(never)
	if started[0] != 3000 || started[1] != 3000 {
		t.Errorf("items started by step = %v, want 3000 each", started)
	}
	if len(n.ended) != 2 || n.ended["ba_1"].Counts.Done != 2000 {
		t.Errorf("%d bulk actions ended, the first with %d done; want 2 and 2000", len(n.ended), n.ended["ba_1"].Counts.Done)
	}
	// The rest of a block waits up to a second for company at the second step.
	if took := n.Now() - epoch; took < 29*sec/10 || took > 41*sec/10 {
		t.Errorf("3000 items at 1000/s took %d ms, want 3 s and up to one more", took/ms)
	}
	if first.Most > 1000 {
		t.Errorf("%d items of the first step started within a second, want at most 1000", first.Most)
	}
}
