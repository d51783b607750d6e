package coord

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/scale"
)

// desired runs two nodes of 64 slots, each with a lane that has so many tasks of a
// second to do, and returns how many nodes are wanted in the end. spare of their items can be
// shared with further lanes.
func desired(tasks, spare int64, rate float64) weir.Plan {
	l := newLab(2)
	l.fleet.Partitions = 32
	l.fleet.Limits = map[string]weir.Resource{"a": {Rate: weir.Rate(rate)}}
	for i := range l.fleet.Nodes {
		l.fleet.Nodes[i].Lanes = []weir.Lane{lane(i, "a")}
	}
	for range 60 {
		for i := range l.fleet.Nodes {
			if tasks > 0 {
				busy(&l.fleet.Nodes[i].Lanes[0], tasks)
				l.fleet.Nodes[i].Lanes[0].Spare = spare
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
		spare int64
		rate  float64 // items a second, 100 in a task
		least int
		most  int
	}{
		{"nothing to do: one node is left", 0, 0, 0, 1, 1},
		{"1,000 tasks in each lane that can be shared: more nodes", 1000, 90_000, 0, 3, 32},
		{"1,000 tasks in each lane that cannot: no more than the lanes", 1000, 0, 0, 2, 2},
		{"1,000 tasks in each lane, of which one block can be shared: one more for each", 1000, 1000, 0, 3, 4},
		{"no more nodes than partitions", 100_000, 90_000_000, 0, 32, 32},
		{"a rate that keeps 16 workers busy: one node is enough", 100_000, 9_000_000, 1600, 1, 1},
		{"a rate that keeps 100 workers busy: both", 100_000, 9_000_000, 10_000, 2, 2},
		{"a rate that keeps 300 workers busy: five of 64 slots", 100_000, 9_000_000, 30_000, 5, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := desired(tt.tasks, tt.spare, tt.rate)
			if p.Nodes != 2 || p.NodesDesired < tt.least || p.NodesDesired > tt.most {
				t.Errorf("%d of %d nodes desired, %d workers needed; want %d to %d", p.NodesDesired, p.Nodes, p.WorkersNeeded, tt.least, tt.most)
			}
		})
	}
}

func TestNodesAreDesiredForWhatIsKeptReady(t *testing.T) {
	for _, tt := range []struct {
		name        string
		timetable   string
		learned     float64 // workers at this hour of the last weeks
		concurrency int
		want        int
	}{
		{"nothing is kept ready", "", 0, 0, 1},
		{"a timetable, without any load", "Fri 18:00-22:00 300", 0, 0, 5},
		{"a timetable beyond the concurrency", "Fri 18:00-22:00 300", 0, 100, 2},
		{"what was learned of this hour", "", 400, 0, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(2)
			l.now = time.Date(2026, 11, 13, 19, 0, 0, 0, time.UTC).UnixNano() // a Friday
			l.fleet.Partitions = 32
			l.fleet.Limits = map[string]weir.Resource{"a": {Concurrency: tt.concurrency}}
			if tt.timetable != "" {
				l.settings.Timetables = map[string]string{"a": tt.timetable}
			}
			if tt.learned > 0 {
				var h scale.History
				for week := range int64(3) {
					h = h.Observe(l.now-(3-week)*int64(7*24*time.Hour), tt.learned)
				}
				l.c.SetHistory("a", h)
			}
			l.cycle()
			if p := l.c.Plan(l.now, l.fleet.Nodes); p.NodesDesired != tt.want {
				t.Errorf("%d nodes desired for %d workers, want %d", p.NodesDesired, p.WorkersNeeded, tt.want)
			}
		})
	}
}
