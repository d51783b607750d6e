package model

import (
	"testing"
	"time"
)

// A resource that takes ten calls at once has use for ten workers, whatever waits.
func TestNoWorkersBeyondTheConcurrency(t *testing.T) {
	for _, partitions := range []int{1, 8} {
		w := simple(60_000, Resource{Concurrency: 10, Downstream: Downstream{Latency: 500 * ms}})
		w.Partitions = partitions
		if got := play(t, w).Resources[0].WorkersPeak; got != 10 {
			t.Errorf("%d partitions: up to %d workers, want the 10 calls that may be in flight", partitions, got)
		}
	}
}

// Calls of one item keep the rate of a resource that also gets calls of many.
func TestSmallBatchesBesideLargeOnesKeepTheRate(t *testing.T) {
	w := simple(6000, Resource{Rate: 300, Downstream: Downstream{Latency: 500 * ms}})
	w.Nodes, w.Workers = []Node{{Slots: 256}}, Workers{Start: 8, Max: 200}
	one := w.BulkActions[0]
	one.Name, one.Batch = "one", 1
	w.BulkActions = append(w.BulkActions, one)
	if end := time.Duration(play(t, w).End); end > 50*time.Second { // 12,000 items at 300/s take 40 s
		t.Errorf("all done after %v, want at most 50 s", end)
	}
}

// Partitions that share a bulk action keep to its own concurrency together.
func TestPartitionsShareABulkActionsOwnConcurrency(t *testing.T) {
	for _, tt := range []struct{ most, calls int }{{2, 10_000}, {5, 10_000}, {6, 10_000}} {
		w := simple(1_000_000, Resource{Downstream: Downstream{Latency: 500 * ms}})
		w.Partitions, w.BulkActions[0].Concurrency, w.BulkActions[0].Batch = 16, tt.most, 100
		least := time.Duration(tt.calls/tt.most) * 500 * time.Millisecond
		if end := time.Duration(play(t, w).End); end < least*98/100 || end > least*115/100 {
			t.Errorf("%d calls of 500ms, %d at once: all done after %v, want about %v", tt.calls, tt.most, end, least)
		}
	}
}
