package partition

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/limit"
)

// checkBounds: all shards together keep to the bulk action's own bounds. What ran where an owner
// died is over, but its starts still count for a rate.
func (c *cluster) checkBounds(b *watched, task *Task) {
	c.t.Helper()
	if !b.strict {
		return
	}
	if n := c.inFlight(b); b.spec.Concurrency > 0 && n > b.spec.Concurrency {
		c.t.Fatalf("%s: %d tasks in flight, its own concurrency is %d: %s", b.spec.ID, n, b.spec.Concurrency, c.partsOf(b))
	}
	name := task.Step.Name
	rate := b.spec.Rates[name]
	if rate == 0 {
		return
	}
	if b.starts == nil {
		b.starts = map[string][]began{}
	}
	quota, window := limit.PerWindow(rate)
	b.starts[name] = append(slices.DeleteFunc(b.starts[name], func(x began) bool { return x.at <= c.now-int64(window) }),
		began{c.now, len(task.Items)})
	sum := int64(0)
	for _, x := range b.starts[name] {
		sum += int64(x.n)
	}
	if sum > quota {
		c.t.Fatalf("%s step %s: %d items started within %v, its own rate allows %d: %s", b.spec.ID, name, sum, window, quota, c.partsOf(b))
	}
}

func (c *cluster) inFlight(b *watched) (n int) {
	for _, s := range c.sites {
		for _, task := range s.running {
			if task.Bulk == b.spec.ID {
				n++
			}
		}
	}
	return n
}

// partsOf describes who has which part.
func (c *cluster) partsOf(b *watched) (text string) {
	for _, s := range c.sites {
		if x := s.m.bulks[b.spec.ID]; x != nil && x.shard != nil {
			text += fmt.Sprintf("\npartition %d has %v in force, wants %v, %d items in flight", s.no, x.shard.part, s.m.asks(c.now, x), x.inFlight)
			if x.atHome() {
				text += fmt.Sprintf(", and granted %+v", x.shard.home.parts)
				for _, t := range x.shard.home.tallies[1:] {
					text += fmt.Sprintf("\n\ttally seen %d held %v want %v have %d", t.Seen, t.Held, t.Want, t.Have)
				}
			}
		}
	}
	return text
}

// bounded adds a bulk action with bounds of its own that is not shared yet.
func (c *cluster) bounded(home, blocks, concurrency int, rates map[string]float64) *watched {
	b := &watched{runBy: map[uint32]int{}, states: map[uint32]*block.State{}, strict: true}
	b.spec = &Created{
		ID: weir.BulkID(fmt.Sprintf("ba_%d", len(c.bulks))), Tenant: "t", Chain: "c", Steps: []string{"s0", "s1"},
		Items: int64(3 * blocks), Sizes: slices.Repeat([]uint16{3}, blocks), Submitted: c.now,
		Concurrency: concurrency, Rates: rates,
	}
	c.bulks = append(c.bulks, b)
	c.append(home, envelope{Created: b.spec})
	b.spec = wholeOf(b.spec)
	b.spec.Shards = []int{home}
	return b
}

// TestBoundsHoldUnderFaults runs bulk actions with bounds of their own under the faults of
// [TestSharedBulkActionsUnderFaults], with nodes that come and go.
func TestBoundsHoldUnderFaults(t *testing.T) {
	shared := 0
	for seed := uint64(1); seed <= 100; seed++ {
		if *seedFlag != 0 && seed != *seedFlag {
			continue
		}
		c := newCluster(t, seed, 2+int(seed%3))
		for range c.sites {
			c.slots = append(c.slots, 1+c.random.IntN(8))
		}
		for _, s := range c.sites {
			s.m = New(s.config(), 0)
		}
		var bulks []*watched
		for i := range 2 {
			rates := map[string]float64{}
			for _, step := range []string{"s0", "s1"} {
				if c.random.IntN(3) == 0 {
					rates[step] = []float64{6.5, 9, 15, 30, 60}[c.random.IntN(5)]
				}
			}
			concurrency := []int{0, 1, 2, 3, 5, 8, 13, 40}[c.random.IntN(8)]
			bulks = append(bulks, c.bounded(i, 60+c.random.IntN(140), concurrency, rates))
			if c.random.IntN(3) == 0 { // from the start
				b, s := bulks[i], c.sites[i]
				b.spec.Shards = nil
				for p := range c.sites {
					b.spec.Shards = append(b.spec.Shards, (i+p)%len(c.sites))
				}
				s.inbox = s.inbox[:len(s.inbox)-1]
				c.append(i, envelope{Created: b.spec})
			}
		}
		for range 6000 {
			c.step()
			switch c.random.IntN(200) {
			case 0:
				nodes := make([]int, len(c.sites))
				for p := range nodes {
					nodes[p] = NoNode + c.random.IntN(len(nodes)+1)
				}
				c.move(nodes...)
			case 1, 2:
				c.favour = c.random.IntN(len(c.sites) + 1)
			case 3:
				c.command(bulks[c.random.IntN(2)], []Verb{Pause, Resume, Resume}[c.random.IntN(3)])
			}
			if t.Failed() {
				break
			}
		}
		for _, b := range bulks {
			c.command(b, Resume)
			shared += min(1, len(b.spec.Shards)-1)
		}
		c.finish()
		c.check()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if shared < 60 && *seedFlag == 0 {
		t.Errorf("%d of 200 bulk actions were shared", shared)
	}
}

// busy lets a cluster work for a while in which each task takes so long, and returns how many tasks
// of a bulk action were in flight on average.
func (c *cluster) busy(b *watched, long, tasks time.Duration) float64 {
	c.t.Helper()
	c.clean = true
	if c.ends == nil {
		c.ends = map[*Task]int64{}
	}
	ends, sum, n := c.ends, 0, 0
	for until := c.now + int64(long); c.now < until; c.now += int64(time.Millisecond) {
		for len(c.network) > 0 {
			c.deliver()
		}
		for _, s := range c.sites {
			for i := len(s.running) - 1; i >= 0 && c.hangs != 1+s.no; i-- {
				switch at := ends[s.running[i]]; {
				case at == 0:
					ends[s.running[i]] = c.now + int64(tasks)
				case c.now >= at:
					delete(ends, s.running[i])
					s.end(i, true)
				}
			}
			s.turn()
			s.confirm()
			s.turn()
		}
		sum += c.inFlight(b)
		n++
	}
	return float64(sum) / float64(n)
}

func TestABoundedBulkActionIsSharedUntilItReachesItsBound(t *testing.T) {
	for _, tt := range []struct {
		name        string
		concurrency int
		least       float64 // tasks in flight
		shards      int
	}{
		{"the home reaches it alone", 3, 2.5, 1},
		{"the home is a part of it", 10, 9, 4},
		{"all together do not reach it", 40, 14, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, 1, 4) // of four slots
			c.move(0, 1, 2, 3)
			b := c.bounded(0, 4000, tt.concurrency, nil)
			c.busy(b, time.Second, 20*time.Millisecond)
			got := c.busy(b, 2*time.Second, 20*time.Millisecond)
			if got < tt.least || len(b.spec.Shards) != tt.shards {
				t.Errorf("%.1f tasks in flight in %d shards, want %v in %d: %s", got, len(b.spec.Shards), tt.least, tt.shards, c.partsOf(b))
			}
		})
	}
}

func TestARateIsSharedUntilItIsReached(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rate   float64
		least  float64 // of the rate, at s0
		shards int
	}{
		{"the home reaches it alone", 100, 0.95, 1},
		{"the home is a part of it", 1000, 0.85, 4}, // 4 slots x 3 items in 20 ms are 600/s, of two steps
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, 1, 4)
			c.move(0, 1, 2, 3)
			b := c.bounded(0, 9000, 0, map[string]float64{"s0": tt.rate})
			c.busy(b, 4*time.Second, 20*time.Millisecond)
			before := len(b.runBy)
			c.busy(b, 4*time.Second, 20*time.Millisecond)
			got := float64(3*(len(b.runBy)-before)) / 4 / tt.rate
			if got < tt.least || len(b.spec.Shards) != tt.shards {
				t.Errorf("%.2f of the rate in %d shards, want %v in %d: %s", got, len(b.spec.Shards), tt.least, tt.shards, c.partsOf(b))
			}
		})
	}
}

func TestChangedBoundsAreSharedAnew(t *testing.T) {
	c := newCluster(t, 1, 3)
	c.move(0, 1, 2)
	b := c.bounded(0, 8000, 0, nil)
	b.strict = false
	c.busy(b, time.Second, 20*time.Millisecond)
	change := func(n int, rates map[string]weir.Rate) {
		c.append(0, envelope{Command: &Command{ID: b.spec.ID, Verb: Change, Rules: &weir.Rules{Concurrency: &n, Rates: rates}}})
		c.busy(b, 2500*time.Millisecond, 20*time.Millisecond)
		b.spec.Concurrency = n
		b.strict = n > 0
	}
	for _, n := range []int{7, 9, 2, 1, 10, 0, 6} {
		change(n, nil)
		got := c.busy(b, time.Second, 20*time.Millisecond)
		want := float64(n)
		if n == 0 {
			want = 11
		}
		if got < 0.85*want {
			t.Errorf("with a concurrency of %d, %.1f tasks are in flight: %s", n, got, c.partsOf(b))
		}
		b.strict = false
	}
}

// A shard whose calls hang leaves its part of a rate to the other. When they end, it gets its share
// again, and what the other has started by then counts for a window.
func TestWhatIsGivenUpOfARateCountsForAWindow(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.move(0, 1)
	b := c.bounded(0, 2000, 0, map[string]float64{"s0": 6})
	b.spec.Shards = []int{0, 1}
	c.sites[0].inbox = nil
	c.append(0, envelope{Created: b.spec})
	for range 3 {
		c.hangs = 1 // the home's
		c.busy(b, 5*time.Second, 20*time.Millisecond)
		if got := c.sites[1].m.bulks[b.spec.ID].part(1); got < 5 {
			t.Errorf("the other shard has %d of 6 items a second while the home's calls hang: %s", got, c.partsOf(b))
		}
		c.hangs = 0
		c.busy(b, 5*time.Second, 20*time.Millisecond)
		if got := c.sites[1].m.bulks[b.spec.ID].part(1); got != 3 {
			t.Errorf("the other shard has %d of 6 items a second while both work: %s", got, c.partsOf(b))
		}
	}
}

// Two shards are on one node, and near the end only one of them gets blocks. What the other had of
// the bound goes to those that have items.
func TestAShardThatGetsNothingMoreGivesItsPartUp(t *testing.T) {
	c := newCluster(t, 1, 3)
	c.slots = []int{8, 8, 8}
	for _, s := range c.sites {
		s.m = New(s.config(), 0)
	}
	c.move(0, 1, 1)
	b := c.bounded(0, 1, 9, nil)
	b.spec.Shards, b.spec.Sizes, b.spec.Items, b.spec.Range = []int{0, 1, 2}, slices.Repeat([]uint16{120}, 22), 22*120, 1
	c.sites[0].inbox = nil
	c.append(0, envelope{Created: b.spec})
	rests := func() bool {
		x := c.sites[2].m.bulks[b.spec.ID]
		return x != nil && x.shard.rest > 0 && x.quiet()
	}
	for i := 0; !rests(); i++ {
		if i > 1000 {
			t.Fatal("the shard never runs out of items", c.partsOf(b), c.sites[2].m.bulks[b.spec.ID])
		}
		c.busy(b, time.Millisecond, 20*time.Millisecond)
	}
	c.busy(b, 800*time.Millisecond, 20*time.Millisecond)
	if got := c.busy(b, 200*time.Millisecond, 20*time.Millisecond); got < 7.5 || !rests() {
		t.Errorf("%.1f of 9 tasks in flight, 0.8 s after a shard has run out of items (%v): %s", got, rests(), c.partsOf(b))
	}
}
