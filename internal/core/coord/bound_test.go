package coord

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// halves makes a lane end tasks of half a second, as many as run, with many behind.
func halves(l *weir.Lane, running int) {
	l.Eligible, l.Ready = 500_000, 500_000
	l.InFlight, l.Busy = running, float64(running)
	l.Started += int64(2 * running)
	l.Sent += int64(2*running) * int64(l.Chunk)
	l.Ended += int64(2 * running)
	l.Took += time.Duration(running) * time.Second
}

func TestLanesAreGivenNoMoreWorkersThanTheConcurrencyCanUse(t *testing.T) {
	for _, tt := range []struct {
		name         string
		nodes, lanes int
		most         int // workers, in all
	}{
		{"one lane", 1, 1, 10},
		{"eight lanes on a node", 1, 8, 10},
		{"eight lanes on two nodes", 2, 8, 10},
		{"more lanes than calls: one each", 2, 16, 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(tt.nodes)
			l.fleet.Limits = map[string]weir.Resource{"a": {Concurrency: 10}}
			for i := range tt.lanes {
				n := &l.fleet.Nodes[i%tt.nodes]
				n.Lanes = append(n.Lanes, lane(i, "a"))
				n.Lanes[len(n.Lanes)-1].Workers = 1
			}
			sum := 0
			for range 60 {
				sum = 0
				for i := range l.fleet.Nodes {
					for j := range l.fleet.Nodes[i].Lanes {
						x := &l.fleet.Nodes[i].Lanes[j]
						halves(x, max(10/tt.lanes, 1))
						sum += x.Workers
					}
				}
				l.cycle()
			}
			if sum != tt.most {
				t.Errorf("%d workers where 10 calls may be in flight, want %d", sum, tt.most)
			}
			if p := l.c.Plan(l.now, l.fleet.Nodes); p.NodesDesired != 1 || p.WorkersNeeded > tt.most {
				t.Errorf("%d nodes and %d workers are desired, want one node", p.NodesDesired, p.WorkersNeeded)
			}
		})
	}
}

func TestNoNodesAreDesiredForWorkersAboveTheMaximum(t *testing.T) {
	l := newLab(1)
	l.settings.Max = 20
	l.fleet.Nodes[0].Lanes = []weir.Lane{lane(0, "a")}
	for range 30 {
		busy(&l.fleet.Nodes[0].Lanes[0], 5000)
		l.cycle()
	}
	if p := l.c.Plan(l.now, l.fleet.Nodes); p.NodesDesired != 1 || p.WorkersNeeded != 20 {
		t.Errorf("%d nodes and %d workers are desired, want one for the 20 that there may be", p.NodesDesired, p.WorkersNeeded)
	}
}

// A lane counts the tasks that it has, not those that it would have if all were full.
func TestSmallTasksNeedMoreWorkers(t *testing.T) {
	l := newLab(1)
	l.fleet.Limits = map[string]weir.Resource{"a": {Rate: 300}}
	l.fleet.Nodes[0].Lanes = []weir.Lane{lane(0, "a")}
	x := &l.fleet.Nodes[0].Lanes[0]
	x.Chunk = 15
	for range 60 { // tasks of one item, a tenth of a second each: 30 are busy at the full rate
		x.Eligible, x.Ready, x.Busy, x.InFlight = 5000, 5000, float64(x.Workers), x.Workers
		n := int64(10 * x.Workers)
		x.Started, x.Sent, x.Ended, x.Took = x.Started+n, x.Sent+n, x.Ended+n, x.Took+time.Duration(n)*100*time.Millisecond
		l.cycle()
	}
	if x.Workers < 30 || x.Workers > 40 {
		t.Errorf("%d workers for 300 calls of 0.1 s a second, want 30 and a few more", x.Workers)
	}
}
