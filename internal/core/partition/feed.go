package partition

import "time"

// Which shard of a shared bulk action gets the next ranges.
//
// While much is left a shard gets several ranges ahead, so that no message has to be waited for. Near the end that would queue
// the last blocks behind whichever node is slow or has to do the work of one that died. So from then on a node gets
// the next range only as it runs out of items to start, and all of its shards together get it once.

const (
	feedAhead = int64(250 * time.Millisecond) // a shard asks when what it has lasts no longer: far more than its messages take
	idleFor   = int64(time.Second)            // a shard in which nothing ends for so long does not keep its node busy
)

// topUp gives ranges to the shards that run short, in turn. The home uses its own after the
// commit that grants them is confirmed: until then a takeover could grant them to another shard.
func (m *Machine) topUp(now int64, b *bulk) {
	h := b.shard.home
	for again := !b.stopping() && !b.held(); again; {
		again = false
		for to := range h.lists {
			if b.ungiven() == 0 || !m.lacks(now, b, to) {
				continue
			}
			h.last[to] = b.batch()
			for range h.last[to] {
				m.grantNext(b, to)
			}
			again = true
			m.touch(b)
		}
	}
}

// batch returns how many ranges are given to a shard at once: the less is left the fewer, so that
// all shards end together.
func (b *bulk) batch() int {
	left := b.ungiven()
	return max(1, min(left/(4*len(b.spec.Shards)), int(rangeBlocks/b.spec.rangeSize())))
}

// nearEnd reports whether ranges are given out one at a time, and none ahead.
func (b *bulk) nearEnd() bool { return b.ungiven() < 8*len(b.spec.Shards) }

// lacks reports whether a shard is to get ranges now.
func (m *Machine) lacks(now int64, b *bulk, to int) bool {
	h := b.shard.home
	if h.parts.idle(b.bounds, to) {
		return false
	}
	if b.nearEnd() {
		return b.starves(now, to) && !m.nodeHasMore(now, b, to)
	}
	return len(h.lists[to])-max(1, b.begunBy(to)) < enough(h.last[to])
}

// starves reports whether a shard has hardly an item left to start, of all that it was given.
func (b *bulk) starves(now int64, no int) bool {
	h := b.shard.home
	given := len(h.lists[no])
	if no == 0 {
		return given == len(b.shard.ranges) && b.runsOut(now)
	}
	t := &h.tallies[no]
	return given == t.Have && (given == 0 || t.RunsOut || t.ended() == h.items[no])
}

// nodeHasMore reports whether the node of a shard works on another shard that does not starve, as it does after it has
// taken over that of a node that died.
func (m *Machine) nodeHasMore(now int64, b *bulk, no int) bool {
	node := m.nodeOf(b.spec.Shards[no])
	for i, p := range b.spec.Shards {
		if i != no && node != NoNode && m.nodeOf(p) == node && !b.starves(now, i) && (i == 0 || now < b.shard.home.moved[i]+idleFor) {
			return true
		}
	}
	return false
}

// nodeOf returns the number of the node that runs a partition, [NoNode] if none is known to.
func (m *Machine) nodeOf(p int) int {
	if p < len(m.reach.Nodes) {
		return m.reach.Nodes[p]
	}
	return NoNode
}

// runsOut reports whether this partition has begun all of its ranges and will soon have no item to start, at its speed until
// now.
func (b *bulk) runsOut(now int64) bool {
	s := b.shard
	if s.begun < len(s.ranges) || b.steps == nil {
		return false
	}
	left := b.unopened() + b.steps[b.spec.FirstStep].queued
	took := float64(now - b.status.Started)
	return left <= b.inFlight || float64(left)*took <= float64(s.given-left)*float64(feedAhead)
}

// feed sees to more ranges when a task was cut and few items are left to start.
func (m *Machine) feed(now int64, b *bulk) {
	switch {
	case b.shard == nil || b.shard.rest == 0 || !b.runsOut(now):
	case b.atHome():
		m.topUp(now, b)
	case !b.asked():
		m.touch(b) // the commit tells the home
	}
}

// asked reports whether the newest tally has told the home that the shard runs out of items.
func (b *bulk) asked() bool {
	t := &b.shard.away.told
	return t.RunsOut && t.Have == len(b.shard.ranges)
}
