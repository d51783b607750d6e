package model

import (
	"fmt"
	"testing"
	"time"
)

// withFlood returns a world of 300 items a second in which a bulk action comes to a tenant that has a flood.
func withFlood(partitions, nodes int, b BulkAction) World {
	w := simple(100_000, Resource{Rate: 300})
	w.Partitions, w.Length = partitions, span(5*time.Minute)
	for range nodes {
		w.Nodes = append(w.Nodes, Node{Slots: 64})
	}
	b.Name, b.Tenant, b.At, b.Steps = "due", w.BulkActions[0].Name, span(20*time.Second), w.BulkActions[0].Steps
	w.BulkActions = append(w.BulkActions, b)
	return w
}

func TestADeadlineIsMetOrKnownToBeMissed(t *testing.T) {
	for _, place := range []struct{ partitions, nodes int }{{1, 1}, {8, 1}, {8, 3}} {
		for _, tt := range []struct {
			name     string
			items    int64
			deadline time.Duration
			met      bool
		}{
			{"that can be met", 6_000, 40 * time.Second, true},
			{"that can not", 12_000, 30 * time.Second, false},
			{"of several shards", 60_000, 250 * time.Second, true},
			{"of several shards that can not", 60_000, 60 * time.Second, false},
		} {
			t.Run(fmt.Sprintf("%s, %d partitions, %d nodes", tt.name, place.partitions, place.nodes), func(t *testing.T) {
				r := play(t, withFlood(place.partitions, place.nodes, BulkAction{Items: tt.items, Deadline: span(tt.deadline)}))
				b := r.Kinds[1].Each[0]
				if met := b.Done == b.Items && b.Finish <= b.At+span(tt.deadline); met != tt.met {
					t.Errorf("met: %t; it ends %v after it came, with %d of %d items done", met, time.Duration(b.Finish-b.At), b.Done, b.Items)
				}
				if late := time.Duration(b.Late - b.At); tt.met != (b.Late == 0) || !tt.met && late > 2500*time.Millisecond {
					t.Errorf("it is known to be late %v after it came", late)
				}
				if !tt.met && (b.Cancelled != b.Items-b.Done || b.Finish-b.At > span(tt.deadline+time.Second) || r.Kinds[1].Missed != 1) {
					t.Errorf("%d of %d items are cancelled, %d are done; it ends after %v", b.Cancelled, b.Items, b.Done, time.Duration(b.Finish-b.At))
				}
			})
		}
	}
}

// A deadline of a chain leaves time for the steps to come, and what is in flight ends.
func TestADeadlineOfAChain(t *testing.T) {
	w := World{
		Resources: []Resource{
			{Name: "a", Rate: 300, Downstream: Downstream{Latency: 20 * ms}},
			{Name: "b", Rate: 100, Downstream: Downstream{Latency: span(2 * time.Second)}},
		},
		BulkActions: []BulkAction{{Name: "bulk", Items: 5_000, Steps: []string{"a", "b"}, Deadline: span(30 * time.Second)}},
	}
	b := play(t, w).Kinds[0].Each[0]
	if b.Done < 2_600 || b.Done > 3_000 || b.Done+b.Cancelled != 5_000 {
		t.Errorf("%d items are done and %d cancelled after 30 s at 100/s", b.Done, b.Cancelled)
	}
	if b.Late == 0 || b.Late > span(2*time.Second) {
		t.Errorf("it is known to be late after %v", time.Duration(b.Late))
	}
	if b.Finish < span(30*time.Second) || b.Finish > span(35*time.Second) {
		t.Errorf("it ends after %v", time.Duration(b.Finish))
	}
}
