package partition

import (
	"flag"
	"maps"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

var seedFlag = flag.Uint64("seed", 0, "run only this seed of the cluster tests")

// TestSharedBulkActionsUnderFaults runs shared bulk actions over machines that
// die, with messages that come late, twice and in any order, while people pause
// and cancel.
func TestSharedBulkActionsUnderFaults(t *testing.T) {
	for seed := uint64(1); seed <= 200; seed++ {
		if *seedFlag != 0 && seed != *seedFlag {
			continue
		}
		c := newCluster(t, seed, 2+int(seed%4))
		rule := []weir.StopRule{{}, {}, {MaxFailures: 20}, {FailureRate: 0.05, Cancel: true}}[seed%4]
		deadline := []time.Duration{0, 0, 0, 0, 3 * time.Second}[seed%5]
		var bulks []*watched
		for i := range 2 {
			bulks = append(bulks, c.submit(i, 60+c.random.IntN(200), rule, deadline))
		}
		for range 4000 {
			c.step()
			if c.random.IntN(400) == 0 {
				verbs := []Verb{Pause, Resume, Resume}
				if c.random.IntN(10) == 0 {
					verbs = []Verb{Cancel}
				}
				c.command(bulks[c.random.IntN(2)], verbs[c.random.IntN(len(verbs))])
			}
			if t.Failed() {
				break
			}
		}
		for _, b := range bulks {
			c.command(b, Resume)
			if rule.MaxFailures != 0 { // it stops again and again
				c.command(b, Cancel)
			}
		}
		c.finish()
		c.check()
		c.remove()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// rounds lets a cluster without faults work for a while; lose drops messages of the network.
func (c *cluster) rounds(n int, lose func(letter) bool) {
	c.t.Helper()
	c.clean = true
	for range n {
		for _, s := range c.sites {
			s.turn()
			s.confirm()
			for len(s.running) > 0 {
				s.end(0, true)
			}
		}
		for len(c.network) > 0 {
			if lose != nil && lose(c.network[0]) {
				c.network = c.network[1:]
				continue
			}
			c.deliver()
		}
		c.now += groupFor
	}
}

func toHome(l letter) bool { return l.Partition == 0 }
func toAway(l letter) bool { return l.Partition != 0 }

func TestShardedWorkIsSpreadOverAllShardsAndEndsOnce(t *testing.T) {
	c := newCluster(t, 1, 4)
	b := c.submit(0, 400, weir.StopRule{}, 0)
	c.finish()
	c.check()
	by := make([]int, 4)
	for _, p := range b.runBy {
		by[p]++
	}
	for p, n := range by {
		if n < 70 || n > 130 {
			t.Errorf("partition %d ran %d of 400 blocks, want about 100: %v", p, n, by)
		}
	}
	if b.seen.State != weir.BulkCompleted || b.seen.Counts.Done != 1200 {
		t.Errorf("it ended as %v with %+v", b.seen.State, b.seen.Counts)
	}
}

func TestLostMessagesAreMadeAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		lose func(letter) bool
	}{
		{"what the home says", toAway},
		{"what the shard says", toHome},
		{"everything", func(letter) bool { return true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, 1, 2)
			b := c.submit(0, 60, weir.StopRule{}, 0)
			c.rounds(3, nil)
			c.rounds(200, tt.lose) // both work until they need each other
			c.now += repeatEvery
			c.rounds(1000, nil)
			c.now += repeatEvery
			c.finish()
			c.check()
			if b.seen.Counts.Done != 180 {
				t.Errorf("done %d of 180", b.seen.Counts.Done)
			}
		})
	}
}

func TestShardThatHearsNothingRepeatsItsTally(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.submit(0, 60, weir.StopRule{}, 0)
	c.rounds(3, nil)
	c.rounds(500, toHome)
	away := c.sites[1]
	for range 3 {
		away.turn()
		if away.flying != nil || len(c.network) != 0 {
			t.Fatal("a shard that has told all is not quiet")
		}
		c.now += repeatEvery
		away.turn()
		away.confirm()
		away.turn()
		if len(c.network) != 1 {
			t.Fatalf("%d messages after a long silence, want one", len(c.network))
		}
		c.network = nil
	}
}

func TestTakeoverMakesMessagesAgainAtOnce(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.submit(0, 60, weir.StopRule{}, 0)
	c.rounds(3, nil)
	for _, s := range c.sites {
		s.crash()
		s.turn()
		s.confirm()
		s.turn()
		if len(c.network) != 1 || c.network[0].from != s.no {
			t.Errorf("after a takeover of partition %d, %d messages were sent, want one", s.no, len(c.network))
		}
		c.network = nil
	}
}

func TestHomeOpensARangeOnlyWhenNoOtherShardCanGetIt(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.submit(0, 60, weir.StopRule{}, 0)
	home := c.sites[0]
	home.turn()
	home.turn()
	if len(home.running) != 0 || len(c.network) != 0 {
		t.Fatalf("%d tasks and %d messages before the commit that gives the ranges out", len(home.running), len(c.network))
	}
	home.confirm()
	home.turn()
	if len(home.running) == 0 || len(c.network) != 1 {
		t.Fatalf("%d tasks and %d messages after it", len(home.running), len(c.network))
	}
}

func TestShardsFollowOnlyTheirHome(t *testing.T) {
	c := newCluster(t, 1, 2)
	b := c.submit(0, 200, weir.StopRule{MaxFailures: -1}, 0)
	c.rounds(3, nil)
	first, away := c.old[0], c.sites[1]
	c.command(b, Pause)
	c.rounds(2, nil)
	c.put(first) // from when it ran
	c.rounds(2, nil)
	before := len(b.runBy)
	c.rounds(5, nil)
	if len(b.runBy) != before || away.m.bulks[b.spec.ID].state != weir.BulkPaused {
		t.Errorf("a paused shard goes on: %v, %d blocks and then %d", away.m.bulks[b.spec.ID].state, before, len(b.runBy))
	}
	c.append(1, envelope{Command: &Command{ID: b.spec.ID, Verb: Cancel}}) // not its home
	c.command(b, Resume)
	c.rounds(2, nil)
	away.turn()
	for range 50 { // all that it has left fails
		for _, task := range away.running {
			outcomes := make([]weir.Outcome, len(task.Items))
			for i := range outcomes {
				outcomes[i] = weir.Outcome{Kind: weir.OutcomeFailed, Code: "bad"}
			}
			away.m.Result(c.now, &Result{Task: task, Outcomes: outcomes})
		}
		away.running = nil
		away.confirm()
		away.turn()
	}
	if x := away.m.bulks[b.spec.ID]; x.state != weir.BulkRunning || x.status.Failed == 0 {
		t.Errorf("a shard judges by itself: %v with %d failed", x.state, x.status.Failed)
	}
	c.rounds(200, nil)
	if home := c.sites[0].m.bulks[b.spec.ID]; home.state != weir.BulkStopped || away.m.bulks[b.spec.ID].state != weir.BulkStopped {
		t.Errorf("after failures of a shard the home is %v and the shard %v, want both stopped", home.state, away.m.bulks[b.spec.ID].state)
	}
	c.command(b, Cancel)
	c.finish()
	c.check()
}

func TestRangesCoverEveryItemOnce(t *testing.T) {
	for _, c := range []Created{
		{Items: 1},
		{Items: 10_240},
		{Items: 10_241},
		{Items: 250_000},
		{Items: 100_000_000},
		{Items: 25, Sizes: []uint16{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 4}},
	} {
		var items int64
		next := uint32(0)
		for r := range c.ranges() {
			from, to := c.blocksOf(r)
			if from != next || to <= from || c.position(from) != items {
				t.Fatalf("%d items, range %d: blocks %d to %d at %d; want %d on at %d", c.Items, r, from, to, c.position(from), next, items)
			}
			next = to
			items += c.itemsOf(r)
		}
		if items != c.Items || next != c.Blocks() || c.ranges() > mostRanges {
			t.Errorf("%d items: %d ranges with %d items and %d blocks", c.Items, c.ranges(), items, next)
		}
	}
}

func TestShardThatHasLostItsStateIsToldEverythingAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		keep bool // its rows are set back to an earlier moment; else none is left
	}{
		{"all of it", false},
		{"its newest ranges", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, 1, 2)
			b := c.submit(0, 200, weir.StopRule{}, 0)
			away, left := c.sites[1], memory{}
			for len(b.runBy) < 60 {
				c.rounds(1, nil)
				if tt.keep && len(left) == 0 {
					left = maps.Clone(away.rows)
				}
			}
			away.rows = left
			away.crash()
			b.lossy = true
			c.finish()
			if c.check(); b.seen.Counts.Done != 600 && !t.Failed() {
				t.Errorf("done %d of 600", b.seen.Counts.Done)
			}
		})
	}
}
