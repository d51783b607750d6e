package coord

import (
	"testing"

	"github.com/weirhq/weir"
)

// desired runs two nodes of 64 slots, each with a lane that has so many tasks of a
// second to do, and returns how many nodes are wanted in the end.
func desired(tasks int64, rate float64) weir.Plan {
	l := newLab(2)
	l.fleet.Limits = map[string]weir.Resource{"a": {Rate: weir.Rate(rate)}}
	for i := range l.fleet.Nodes {
		l.fleet.Nodes[i].Lanes = []weir.Lane{lane(i, "a")}
	}
	for range 60 {
		for i := range l.fleet.Nodes {
			if tasks > 0 {
				busy(&l.fleet.Nodes[i].Lanes[0], tasks)
			}
		}
		l.cycle()
	}
	return l.c.Plan(l.now, l.fleet.Nodes)
}

func TestNodesAreDesiredForTheWorkersThatAreOfUse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tasks int64
		rate  float64 // items a second, 100 in a task
		least int
		most  int
	}{
		{"nothing to do: one node is left", 0, 0, 1, 1},
		{"1,000 tasks in each lane: more nodes", 1000, 0, 3, 32},
		{"a rate that keeps 16 workers busy: one node is enough", 100_000, 1600, 1, 1},
		{"a rate that keeps 100 workers busy: both", 100_000, 10_000, 2, 2},
		{"a rate that keeps 300 workers busy: five of 64 slots", 100_000, 30_000, 5, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := desired(tt.tasks, tt.rate)
			if p.Nodes != 2 || p.NodesDesired < tt.least || p.NodesDesired > tt.most {
				t.Errorf("%d of %d nodes desired, %d workers needed; want %d to %d", p.NodesDesired, p.Nodes, p.WorkersNeeded, tt.least, tt.most)
			}
		})
	}
}
