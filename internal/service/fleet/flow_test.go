package fleet

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestTasksInAndOutAreCountedOverSomeSeconds(t *testing.T) {
	id := weir.LaneID{Partition: 3, Resource: "sms"}
	at := func(node string, arrived float64, ended int64) []weir.Node {
		return []weir.Node{{Name: node, Lanes: []weir.Lane{{ID: id, Arrived: arrived, Ended: ended}}}}
	}
	var f flows
	start := time.Unix(1000, 0)
	for _, step := range []struct {
		what    string
		after   time.Duration
		nodes   []weir.Node
		in, out float64
	}{
		{"at first", 0, at("a", 100, 50), 0, 0},
		{"too soon", time.Second, at("a", 900, 90), 0, 0},
		{"ten seconds later", 10 * time.Second, at("a", 300, 150), 20, 10},
		{"soon after that", 12 * time.Second, at("a", 400, 200), 20, 10},
		{"on another node, which counts from 0", 30 * time.Second, at("b", 5, 5), 0, 0},
		{"ten seconds later there", 40 * time.Second, at("b", 15, 25), 1, 2},
	} {
		if got := f.note(step.nodes, start.Add(step.after))[id]; got.in != step.in || got.out != step.out {
			t.Errorf("%s: %v in and %v out, want %v and %v", step.what, got.in, got.out, step.in, step.out)
		}
	}
	if f.note(nil, start.Add(time.Minute)); len(f.lanes) != 0 {
		t.Errorf("lanes that are gone are remembered: %v", f.lanes)
	}
}
