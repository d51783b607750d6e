package partition

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// feedBlock is the size of the blocks in these tests: they take a partition about a second.
const feedBlock = 400

// long adds a bulk action of so many blocks that each take long, which is not shared yet.
func (c *cluster) long(home, blocks int) *watched {
	return c.add(home, &Created{
		ID: "ba_long", Tenant: "t", Chain: "one", Steps: []string{"s0"},
		Items: int64(feedBlock * blocks), Sizes: slices.Repeat([]uint16{feedBlock}, blocks), Submitted: c.now,
	})
}

// pass lets 20 ms pass, in which a node ends so many tasks in all of its partitions. Each takes one item.
func (c *cluster) pass(tasks ...int) {
	c.t.Helper()
	left := slices.Clone(tasks)
	for _, s := range c.sites {
		s.turn()
		s.confirm()
	}
	for again := true; again; {
		again = false
		for _, s := range c.sites {
			if node := c.nodes[s.no]; node != NoNode && left[node] > 0 && len(s.running) > 0 {
				s.end(0, true)
				left[node]--
				again = true
			}
			s.turn()
			s.confirm()
		}
	}
	for len(c.network) > 0 {
		c.deliver()
	}
	c.now += int64(20 * time.Millisecond)
}

// unstarted returns, by node, how many items it was given that have not ended.
func (c *cluster) unstarted(b *watched) []int64 {
	by := make([]int64, slices.Max(c.nodes)+1)
	for _, s := range c.sites {
		if x := s.m.bulks[b.spec.ID]; x != nil && x.shard != nil && c.nodes[s.no] != NoNode {
			ended := x.ended()
			if x.atHome() {
				for i := range x.shard.home.tallies {
					ended -= x.shard.home.tallies[i].ended()
				}
			}
			by[c.nodes[s.no]] += x.shard.given - ended
		}
	}
	return by
}

// given reports whether all ranges of a bulk action have an owner that has them.
func (c *cluster) given(b *watched) bool {
	home := c.sites[b.spec.Shards[0]].m.bulks[b.spec.ID]
	if home == nil {
		return true
	}
	return home.shard != nil && home.ungiven() == 0
}

func feedCluster(t *testing.T, partitions int) *cluster {
	c := newCluster(t, 1, partitions)
	c.clean = true
	c.chains["one"] = steps(1, 1)
	return c
}

// wantLittle checks what nodes have left to do when the last block was given out: little more than a block.
func (c *cluster) wantLittle(b *watched, tasks ...int) {
	c.t.Helper()
	for c.pass(tasks...); !c.given(b); {
		c.pass(tasks...)
	}
	for node, n := range c.unstarted(b) {
		most := int64(feedBlock + 15*tasks[node]) // a block, and what it starts in a quarter of a second
		if n > most {
			c.t.Errorf("node %d has %d items to do when the last block is given out, want at most %d", node, n, most)
		}
	}
	c.finish()
	c.check()
}

func TestTheLastBlocksAreNotQueuedBehindASlowNode(t *testing.T) {
	for _, slow := range []int{0, 2} { // the home, and another
		for blocks := range 6 {
			t.Run(fmt.Sprintf("node %d, %d blocks", slow, 60+blocks), func(t *testing.T) {
				c := feedCluster(t, 4)
				c.move(0, 1, 2, 3)
				tasks := []int{8, 8, 8, 8}
				tasks[slow] = 2
				c.wantLittle(c.long(0, 60+blocks), tasks...)
			})
		}
	}
}

func TestWhatANodeLeavesWhenItDiesIsNotAddedToThePartOfAnother(t *testing.T) {
	c := feedCluster(t, 4)
	c.move(0, 1, 2, 3)
	b := c.long(0, 60)
	for range 150 {
		c.pass(8, 8, 8, 8)
	}
	c.sites[3].crash()
	c.move(0, 1, 2, 2)
	c.wantLittle(b, 8, 8, 8)
}

func TestAShardThatStandsStillDoesNotKeepItsNodeIdle(t *testing.T) {
	c := feedCluster(t, 4)
	c.move(0, 1, 2, 2)
	b := c.long(0, 40)
	for b.spec.Shards == nil || len(b.spec.Shards) < 3 {
		c.pass(8, 8, 8)
	}
	c.move(0, 1, 2, 3)
	for len(b.spec.Shards) < 4 {
		c.pass(8, 8, 8, 8)
	}
	for range 50 {
		c.pass(8, 8, 8, 8)
	}
	c.move(0, 1, 2, 2)
	stuck := c.sites[3]
	stuck.m.Stop()
	for !c.given(b) {
		c.pass(8, 8, 8)
	}
	stuck.m.Proceed()
	c.finish()
	c.check()
	if by := b.shares(4); by[2] < by[1]/2 {
		t.Errorf("partitions ran %v blocks, want partition 2 to go on while 3 stands still on the same node", by)
	}
}
