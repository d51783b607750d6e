package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// TestCallsAreFilledWithItemsThatGo: items that `when` is not true for, by their data or
// by what an earlier step answered, are in no call, and leave no gaps in the calls.
func TestCallsAreFilledWithItemsThatGo(t *testing.T) {
	var mu sync.Mutex
	calls := map[string][]int{} // sizes by action
	step := func(name string) weir.Step {
		return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
			Name: name, BatchSize: 50,
			Handle: func(_ context.Context, b *rawBatch) error {
				mu.Lock()
				calls[name] = append(calls[name], b.Len())
				mu.Unlock()
				for i := range b.Len() {
					b.Done(i, b.Item(i).Value)
				}
				return nil
			},
		})
	}
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{step("award"), step("bonus"), step("notify")}})
	b := n.Make(`{"steps":[
		{"action":"award","when":"item.n % 10 == 0","otherwise":"skip"},
		{"action":"bonus","when":"steps.award.done && steps.award.output.n % 20 == 0","otherwise":"skip"},
		{"action":"notify","when":"item.n % 100 == 0"}]}`,
		rows(2000, func(i int) string { return fmt.Sprintf(`{"id":"u%d","n":%d}`, i, i) }))
	done := n.Until(b.ID, api.Completed)
	if c := done.Counts; c.Done != 20 || c.Cancelled != 1980 || c.Failed != 0 {
		t.Errorf("counts %+v, want 20 done and 1980 left out", c)
	}
	var report api.Report
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/report", "", 200, &report)
	want := []api.StepProgress{{Done: 2000, Skipped: 1800, Attempts: 200}, {Done: 2000, Skipped: 1900, Attempts: 100}, {Done: 20, LeftOut: 1980, Attempts: 20}}
	most := []int{6, 6, 4} // in each of two blocks full calls and one that is not, and where a step waits for the one before, one more
	mu.Lock()
	defer mu.Unlock()
	for i, s := range report.Steps {
		items := 0
		for _, size := range calls[s.Action] {
			items += size
		}
		if s.Done != want[i].Done || s.Skipped != want[i].Skipped || s.LeftOut != want[i].LeftOut || s.Attempts != want[i].Attempts || int64(items) != s.Attempts {
			t.Errorf("step %s has %+v with %d items in calls, want %+v", s.Step, s, items, want[i])
		}
		if len(calls[s.Action]) > most[i] {
			t.Errorf("step %s: calls of %v items, want at most %d", s.Step, calls[s.Action], most[i])
		}
	}
}
