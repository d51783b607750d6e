package partition

import (
	"testing"

	"github.com/weirhq/weir"
)

// lane returns the work of the bench's only lane since the last call.
func (b *bench) lane() LaneLoad {
	b.t.Helper()
	all := b.m.Observe(b.now, nil)
	if len(all) != 1 {
		b.t.Fatalf("%d lanes, want 1", len(all))
	}
	return all[0]
}

func (b *bench) scale(epoch uint64, at int64, workers int) {
	b.t.Helper()
	b.message(envelope{Scale: &Scale{Type: ScaleUp, Lane: "r0", Workers: workers, Reason: "test", Epoch: epoch, At: at}})
}

func newLaneBench(t *testing.T) *bench {
	b := newBench(t)
	b.chains["c"] = steps(1, 4)
	b.chains["c"][0].Resource.Name = "r0"
	return b
}

func TestALaneObeysAtOnceAndRemembers(t *testing.T) {
	b := newLaneBench(t)
	b.create("ba_1", "a", 400)
	b.scale(7, 1, 3)
	if tasks := b.settle(); len(tasks) != 3 {
		t.Errorf("%d tasks run on 3 workers", len(tasks))
	}
	b.scale(7, 2, 5)
	if do := b.advance(); len(do.Start) != 2 {
		t.Errorf("%d more tasks start with 5 workers, want 2 before anything is written", len(do.Start))
	}
	b.commit()
	b.reload()
	if got := b.lane().Workers; got != 5 {
		t.Errorf("%d workers after a takeover, want the 5 that were told last", got)
	}
	if tasks := b.settle(); len(tasks) != 5 {
		t.Errorf("%d tasks run after a takeover, want 5", len(tasks))
	}
	if s, err := ReadWorkers(b.rows, "r0"); err != nil || s.Workers != 5 || s.Reason != "test" {
		t.Errorf("stored: %+v, %v", s, err)
	}
}

func TestAStaleLeaderIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name  string
		epoch uint64
		at    int64
		want  int
	}{
		{"the same leader, later", 7, 20, 9},
		{"the same command again", 7, 10, 9},
		{"the same leader, earlier", 7, 9, 4},
		{"a leader before", 6, 30, 4},
		{"the next leader, whose clock is behind", 8, 1, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newLaneBench(t)
			b.create("ba_1", "a", 4)
			b.scale(7, 10, 4)
			b.settle()
			b.reload()
			b.scale(tt.epoch, tt.at, 9)
			if got := b.lane().Workers; got != tt.want {
				t.Errorf("%d workers, want %d", got, tt.want)
			}
		})
	}
}

func TestALaneCountsWhatItDoes(t *testing.T) {
	b := newLaneBench(t)
	b.create("ba_1", "a", 12)
	b.create("ba_2", "b", 400) // large: a backlog, no arrival
	l := b.lane()
	if l.Arrived != 3 || l.Ready != 412 || l.Backlog != 0 || l.Chunk != 4 || l.Workers != -1 {
		t.Errorf("before anything may run: %+v", l)
	}
	tasks := b.settle()
	if l = b.lane(); l.Started != 8 || l.InFlight != 8 || l.Ready != 412-32 || l.Backlog != 412-32 {
		t.Errorf("with 8 tasks in flight: %+v", l)
	}
	b.now += 1e9
	b.m.Result(b.now, &Result{Task: tasks[0], Outcomes: b.allDone(tasks[0])})
	b.m.Result(b.now, &Result{Task: tasks[1], Failure: &Failure{Code: "down"}})
	b.m.Result(b.now, &Result{Task: tasks[2], Failure: &Failure{Code: "busy", Refused: true}})
	b.m.Result(b.now, &Result{Task: tasks[3], Outcomes: make([]weir.Outcome, 4)}) // no answers
	l = b.lane()
	if l.Ended != 4 || l.Failed != 3 || l.Refused != 1 || l.Waiting != 12 || l.Took < 4e9 {
		t.Errorf("after four tasks: %+v", l)
	}
	b.message(envelope{Command: &Command{ID: "ba_1", Verb: Cancel}})
	b.message(envelope{Command: &Command{ID: "ba_2", Verb: Cancel}})
	b.now += 600e9
	b.advance()
	if l = b.lane(); l.Ready != 0 || l.Waiting != 0 || l.Backlog != 0 {
		t.Errorf("after all was cancelled: %+v", l)
	}
}
