package partition

import "github.com/weirhq/weir/internal/core/block"

// A bulk action with more than one shard is worked on by several partitions.
//
// Its blocks are cut into ranges. The home (the partition that its id names) gives ranges out,
// one at a time, to shards that run short: to itself by its own commits, to the others by
// [Orders]. Every shard is a bulk action of its own partition that opens the blocks of its
// ranges and no others. It reports its progress to the home by a [Tally]. The home adds up the
// newest of each, and alone decides about failure rule, deadline and end.
//
// Both messages describe a state as of a commit and carry its number, so a duplicate or late
// message is recognised by its number and has no effect. Neither is stored for sending: it can
// be made again from the rows at any time. It is made again after a takeover, and until the
// other side shows that it has it.

const (
	rangeBlocks = 10   // given out at once, about ten thousand items
	mostRanges  = 4096 // of a bulk action; a larger one has larger ranges
	mostShards  = 255  // the owner of a range is one byte
)

// Shared reports whether several partitions work on the bulk action.
func (c *Created) Shared() bool { return len(c.Shards) > 1 }

// Share has several partitions share the bulk action, the home first; nil: the home does it all.
func (c *Created) Share(shards []int) {
	if len(shards) > 1 {
		c.Shards, c.Range = shards, c.grain()
	}
}

// grain returns the least number of blocks in a range.
func (c *Created) grain() uint32 { return max(1, (c.Blocks()+mostRanges-1)/mostRanges) }

// rangeSize returns the number of blocks in a range.
func (c *Created) rangeSize() uint32 {
	if c.Range > 0 {
		return c.Range
	}
	return max(rangeBlocks, c.grain())
}

// ranges returns the number of ranges.
func (c *Created) ranges() uint32 { return (c.Blocks() + c.rangeSize() - 1) / c.rangeSize() }

// blocksOf returns the first block of a range, and the one after its last.
func (c *Created) blocksOf(r uint32) (from, to uint32) {
	return r * c.rangeSize(), min((r+1)*c.rangeSize(), c.Blocks())
}

// itemsOf returns the number of items in a range.
func (c *Created) itemsOf(r uint32) int64 {
	from, to := c.blocksOf(r)
	return c.position(to) - c.position(from)
}

// position returns the position of a block's first item in the bulk action.
func (c *Created) position(no uint32) (at int64) {
	if c.Sizes == nil {
		return min(int64(no)*block.Size, c.Items)
	}
	for _, n := range c.Sizes[:no] {
		at += int64(n)
	}
	return at
}

// shard is the part of a bulk action that this partition works on.
type shard struct {
	no     int      // in the spec's list of shards; 0: the home
	ranges []uint32 // given to it, ascending
	begun  int      // how many of them the cursor has reached
	end    uint32   // the block after the range under the cursor
	base   int64    // position of the first item of the block under the cursor
	given  int64    // items of its ranges
	last   int      // ranges that it was given last
	rest   int64    // items not given to any shard, as far as known here

	part    []int64 // of each of the bulk action's own bounds, in force here; nil: it has none
	settles []int64 // of each: until then starts at a larger part of a rate may be in its window

	home *home // set in the home
	away *away // set elsewhere
}

// away reports whether the bulk action's home is another partition.
func (b *bulk) away() bool { return b.shard != nil && b.shard.away != nil }

// atHome reports whether this is the home of a shared bulk action.
func (b *bulk) atHome() bool { return b.shard != nil && b.shard.home != nil }

// give adds a range that the shard may open.
func (b *bulk) give(r uint32) {
	b.shard.ranges = append(b.shard.ranges, r)
	b.shard.given += b.spec.itemsOf(r)
	b.seek()
}

// seek moves a cursor that is at the end of its range to the next one.
func (b *bulk) seek() {
	s := b.shard
	if b.cursor < s.end || s.begun == len(s.ranges) {
		return
	}
	b.cursor, s.end = b.spec.blocksOf(s.ranges[s.begun])
	s.base = b.spec.position(b.cursor)
	s.begun++
}

// short reports whether the shard needs more ranges: less than half of those that it was given
// last are left beyond the one under the cursor.
func (s *shard) short() bool { return len(s.ranges)-s.begun < enough(s.last) }

// enough returns how many ranges a shard has to have left that was given so many last.
func enough(last int) int { return max(1, last/2) }

// openedOf records that a block of a shared bulk action was opened: the range under the cursor
// may be its last.
func (m *Machine) openedOf(now int64, b *bulk) {
	if !b.shard.short() {
		return
	}
	if b.atHome() {
		m.topUp(now, b)
	}
	m.touch(b) // the commit tells the home, or grants the home's own next range
}
