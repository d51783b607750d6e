package partition

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// move tells all machines which node runs which partition.
func (c *cluster) move(nodes ...int) {
	c.nodes = nodes
	for _, s := range c.sites {
		s.m.Reach(c.now, Reach{s.no, nodes})
	}
}

// whole adds a bulk action of so many blocks of three items that is not shared yet. The first of
// them can be its canary.
func (c *cluster) whole(home, blocks, canary int) *watched {
	spec := &Created{
		ID: weir.BulkID(fmt.Sprintf("ba_%d", len(c.bulks))), Tenant: "t", Chain: "c", Steps: []string{"s0", "s1"},
		Items: int64(3 * blocks), Sizes: slices.Repeat([]uint16{3}, blocks), Submitted: c.now,
	}
	if canary > 0 {
		spec.Canary = &Canary{Items: int64(3 * canary)}
	}
	return c.add(home, spec)
}

// slowly lets a cluster work for so many turns, each of which takes a while.
func (c *cluster) slowly(turns int) {
	c.t.Helper()
	for range turns {
		c.rounds(1, nil)
		c.now += int64(20 * time.Millisecond)
	}
}

// TestBulkActionsAreSharedUnderFaults runs bulk actions that become shared while they run, with
// nodes that come and go, under the faults of [TestSharedBulkActionsUnderFaults].
func TestBulkActionsAreSharedUnderFaults(t *testing.T) {
	shared := 0
	for seed := uint64(1); seed <= 200; seed++ {
		if *seedFlag != 0 && seed != *seedFlag {
			continue
		}
		c := newCluster(t, seed, 2+int(seed%5))
		var bulks []*watched
		for i := range 2 {
			bulks = append(bulks, c.whole(i, 60+c.random.IntN(200), int(seed%3)*c.random.IntN(20)))
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
			case 1:
				verbs := []Verb{Pause, Resume, Resume, Approve}
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
			c.command(b, Approve)
			if b.spec.Canary != nil {
				c.slowly(2)
				c.command(b, Cancel) // an approval that came too early has no effect
			}
			shared += min(1, len(b.spec.Shards)-1)
		}
		c.finish()
		c.check()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if shared < 100 && *seedFlag == 0 {
		t.Errorf("%d of 400 bulk actions were shared", shared)
	}
}

// shares returns how many blocks each partition ran.
func (b *watched) shares(partitions int) []int {
	by := make([]int, partitions)
	for _, p := range b.runBy {
		by[p]++
	}
	return by
}

func TestALongBulkActionIsGivenToEveryNodeOnce(t *testing.T) {
	c := newCluster(t, 1, 6)
	c.move(0, 0, 1, 1, 2, 2)
	b := c.whole(0, 400, 0)
	c.slowly(10)
	if b.spec.Shared() {
		t.Fatalf("it is shared by %v after 200 ms", b.spec.Shards)
	}
	c.finish()
	c.check()
	by := b.shares(6)
	nodes := []int{by[0] + by[1], by[2] + by[3], by[4] + by[5]}
	if len(b.spec.Shards) != 3 || slices.Min(nodes) < 110 {
		t.Errorf("partitions %v of three nodes ran %v of 400 blocks, want one of each and about 133", b.spec.Shards, by)
	}
}

func TestABulkActionThatEndsSoonStaysWhole(t *testing.T) {
	c := newCluster(t, 1, 4)
	c.move(0, 1, 2, 3)
	b := c.whole(0, 14, 0)
	c.finish()
	small := c.whole(0, leastShared-1, 0)
	c.now += shareAfter
	c.finish()
	if c.check(); b.spec.Shared() || small.spec.Shared() {
		t.Errorf("they are shared by %v and %v", b.spec.Shards, small.spec.Shards)
	}
}

func TestANodeThatJoinsGetsItsPart(t *testing.T) {
	c := newCluster(t, 1, 4)
	c.move(0, 0, 0, 0)
	b := c.whole(0, 400, 0)
	for len(b.runBy) < 100 {
		c.slowly(1)
	}
	if b.spec.Shared() {
		t.Fatalf("it is shared by %v on one node", b.spec.Shards)
	}
	c.move(0, 0, 0, 1)
	for len(b.runBy) < 200 {
		c.slowly(1)
	}
	c.move(0, 2, 0, 1)
	c.finish()
	c.check()
	if by := b.shares(4); by[3] < 100 || by[1] < 40 || by[2] != 0 {
		t.Errorf("partitions ran %v of 400 blocks, want the last to join later and have less", by)
	}
}

func TestAPartitionThatMovesTakesItsRangesAlong(t *testing.T) {
	c := newCluster(t, 1, 3)
	c.move(0, 1, 1)
	b := c.whole(0, 200, 0)
	for !b.spec.Shared() {
		c.slowly(1)
	}
	c.move(0, 0, 0)
	c.slowly(5)
	c.finish()
	if c.check(); len(b.spec.Shards) != 2 {
		t.Errorf("it is shared by %v, want two", b.spec.Shards)
	}
}

func TestABulkActionIsSharedWhenItsCanaryHasPassed(t *testing.T) {
	for _, auto := range []bool{false, true} {
		t.Run(fmt.Sprintf("auto %v", auto), func(t *testing.T) {
			c := newCluster(t, 1, 3)
			c.move(0, 1, 2)
			b := c.whole(0, 300, 40)
			b.spec.Canary.Auto = auto
			c.sites[0].inbox = nil
			b.approved = auto
			c.append(0, envelope{Created: wholeOf(b.spec)})
			c.slowly(100)
			if !auto {
				if len(b.runBy) != 40 {
					t.Fatalf("%d blocks ran before the approval", len(b.runBy))
				}
				c.command(b, Approve)
			}
			c.finish()
			c.check()
			if by := b.shares(3); slices.Min(by) < 70 {
				t.Errorf("partitions ran %v of 300 blocks, want about a third each after the first 40", by)
			}
		})
	}
}

// wholeOf returns the spec as it was submitted.
func wholeOf(c *Created) *Created {
	spec := *c
	spec.Shards = nil
	return &spec
}
