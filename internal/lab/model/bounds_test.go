package model

import (
	"strings"
	"testing"
	"time"
)

// A question about one bulk action need not wait for all others.
func TestTheWorldStopsAfterABulkAction(t *testing.T) {
	w := simple(1_000, Resource{Rate: 500})
	w.BulkActions = append(w.BulkActions,
		BulkAction{Name: "huge", Items: 10_000_000, Steps: w.BulkActions[0].Steps},
		BulkAction{Name: "stream", Arrivals: 1, Until: Span(time.Hour), Items: 1, Steps: w.BulkActions[0].Steps})
	w.StopAfter = w.BulkActions[0].Name
	r := play(t, w)
	if k := r.Kinds[0]; k.Open != 0 || r.End != k.Finish || r.Finished || r.Kinds[1].Open != 1 {
		t.Errorf("the world ended at %s, its first bulk action at %s; finished %v", spanText(r.End), spanText(k.Finish), r.Finished)
	}
	w.StopAfter = "another"
	if err := w.Validate(); err == nil || !strings.Contains(err.Error(), `stop_after: unknown bulk action "another"`) {
		t.Errorf("a bulk action that is not there: %v", err)
	}
}

func TestTheWorldStopsAfterManyTasks(t *testing.T) {
	w := simple(1_000_000, Resource{Rate: 500})
	w.MaxTasks = 300
	r := play(t, w)
	if n := r.Resources[0].Started; r.Finished || n < 300*1024/41 || n > 320*25 {
		t.Errorf("after 300 tasks, 41 of a block, %d were started, finished %v", n, r.Finished)
	}
	w.MaxTasks = -1
	if err := w.Validate(); err == nil || !strings.Contains(err.Error(), "max_tasks") {
		t.Errorf("less than no tasks: %v", err)
	}
}

// Full batches need a fraction of the calls, and keep the rate.
func TestPacingDecidesAboutTheCalls(t *testing.T) {
	for pacing, most := range map[string]int64{"": 680, "smooth": 680, "full": 130} {
		w := simple(9_000, Resource{Rate: 300, Pacing: pacing})
		w.Partitions = 8
		r := play(t, w)
		if x := r.Resources[0]; x.Calls < most/2 || x.Calls > most || r.Kinds[0].Steps[0] != (StepResult{x.Calls, 9_000}) || x.Peak > 300 {
			t.Errorf("pacing %q: %d calls, at most %v/s, want at most %d and 300/s", pacing, x.Calls, x.Peak, most)
		}
		if took := time.Duration(r.End).Seconds(); took > 30.8 {
			t.Errorf("pacing %q: 9,000 items at 300/s took %vs", pacing, took)
		}
	}
	w := simple(1, Resource{Pacing: "fast"})
	if err := w.Validate(); err == nil || !strings.Contains(err.Error(), "pacing") || !strings.Contains(err.Error(), "smooth, full") {
		t.Errorf("an unknown pacing: %v", err)
	}
}

func TestStepsHaveBatchesOfTheirOwn(t *testing.T) {
	calls := func(batches ...int) int64 {
		w := World{
			Workers: Workers{Start: 1, Max: 1},
			Resources: []Resource{
				{Name: "a", Downstream: Downstream{Latency: 10 * ms, P99: 10 * ms}}, {Name: "b", Downstream: Downstream{Latency: 10 * ms, P99: 10 * ms}},
			},
			BulkActions: []BulkAction{{Name: "chain", Items: 1_000, Batches: batches, Steps: []string{"a", "b"}}},
		}
		return int64(play(t, w).End / (10 * ms)) // one call after the other at the slower step
	}
	if few, many := calls(100, 100), calls(100, 10); few > 15 || many < 100 || many > 115 {
		t.Errorf("in calls of 100 items there are about %d, in calls of 10 at one step %d", few, many)
	}
	w := World{Resources: []Resource{{Name: "a", Downstream: Downstream{Latency: ms}}}, BulkActions: []BulkAction{{Name: "x", Items: 1, Batches: []int{0, 1}, Steps: []string{"a"}}}}
	if err := w.Validate(); err == nil || !strings.Contains(err.Error(), "batches[0]") || !strings.Contains(err.Error(), "has 2 entries for 1 steps") {
		t.Errorf("bad batches: %v", err)
	}
}
