package partition

import (
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/route"
)

// A bulk action that one node would work on for long is given to the other nodes while it runs.
//
// Its home decides, from how far it has come and from which nodes there are, and it decides again
// whenever that changes. It adds one partition of each node that has none yet to the list of
// shards; a partition that moves takes its ranges along. So a bulk action that ends soon stays
// whole, one with a canary is shared when the rest may run, and a node that joins gets its part.

const (
	leastShared = 4                             // blocks of a bulk action that is shared
	shareAfter  = int64(250 * time.Millisecond) // how long it has to have run, and to have left
	boundAfter  = int64(time.Second)            // when one that has reached a bound of its own is looked at again
)

// NoNode is the number of the node that runs a partition that none runs.
const NoNode = -1

// Reach says which nodes can work on a bulk action.
type Reach struct {
	// Self is the machine's own partition.
	Self int
	// Nodes holds, by partition that new work goes to, a number for the node that runs it, or
	// [NoNode].
	Nodes []int
}

// Reach tells the machine which node runs which partition. It shares bulk actions with those.
func (m *Machine) Reach(now int64, r Reach) {
	m.reach = r
	for _, b := range m.ordered() {
		m.spread(now, b)
	}
}

// spreadLater has a bulk action that starts be looked at when it has run for a while.
func (m *Machine) spreadLater(now int64, b *bulk) {
	if b.state == weir.BulkRunning && b.sharable() {
		m.shareAt(b, max(now, b.status.Started+shareAfter))
	}
}

func (m *Machine) shareAt(b *bulk, at int64) {
	if b.shareAt == 0 || at < b.shareAt {
		b.shareAt = at
		m.waits.push(wait{due: at, bulk: b.spec.ID})
	}
}

// sharable reports whether the bulk action may ever get more shards from here.
func (b *bulk) sharable() bool {
	c := b.spec
	return !b.away() && b.steps != nil && c.Blocks() >= leastShared
}

// spread gives the bulk action more shards, if that helps.
func (m *Machine) spread(now int64, b *bulk) {
	if now >= b.shareAt {
		b.shareAt = 0
	}
	if !b.sharable() || b.state != weir.BulkRunning || b.opens != nil || b.status.Phase == canaryPhase ||
		now < b.status.Started+shareAfter {
		return
	}
	more := m.helpers(b, b.ungiven())
	switch {
	case len(more) == 0:
		return
	case b.endsSoon(now):
		m.shareAt(b, now+shareAfter)
		return
	case m.atBound(now, b):
		m.shareAt(b, now+boundAfter)
		return
	}
	spec := *b.spec
	b.spec = &spec
	if b.shard == nil {
		m.divide(now, b)
	}
	spec.Shards = append(slices.Clone(spec.Shards), more...)
	b.shard.home.extend(len(more))
	m.writeSpec(b)
	m.touch(b)
	m.grantParts(now, b)
	m.topUp(now, b)
	m.offerAll(now, b)
}

// spare returns, by lane, how many items other partitions could take if there were more nodes.
func (m *Machine) spare(now int64) map[*lane]int64 {
	items := map[*lane]int64{}
	for _, b := range m.bulks { // a sum: order does not reach the output
		if !b.sharable() || b.state != weir.BulkRunning || b.opens != nil || b.status.Phase == canaryPhase || m.atBound(now, b) {
			continue
		}
		n := b.unopened()
		if b.shard != nil {
			n = b.shard.rest
		}
		if most := b.bound(0); most > 0 { // no more than on as many nodes as its own concurrency fills
			more := ceilDiv(most, int64(max(m.queue.Slots(), 1))) - max(1, int64(len(b.spec.Shards)))
			n = min(n, max(more, 0)*block.Size)
		}
		items[b.steps[b.spec.FirstStep].lane] += n
	}
	return items
}

// ungiven returns the number of ranges that no partition has.
func (b *bulk) ungiven() int {
	if b.atHome() {
		return int(b.spec.ranges()) - len(b.shard.home.owners)
	}
	return int((b.spec.Blocks() - b.cursor) / b.spec.grain())
}

// endsSoon reports whether what is left would take no longer than a message to another node is
// worth, at the speed until now.
func (b *bulk) endsSoon(now int64) bool {
	left := b.unopened()
	if b.shard != nil {
		left += b.shard.rest
	}
	took := now - b.status.Started
	return float64(left)*float64(took) < float64(b.spec.Items-left)*float64(shareAfter)
}

// helpers returns the partitions to add: at most so many, one of each node that has no shard, and
// more of any node if the size of the bulk action asks for it.
func (m *Machine) helpers(b *bulk, most int) (more []int) {
	nodes, self := m.reach.Nodes, m.reach.Self
	if self >= len(nodes) || nodes[self] == NoNode {
		return nil // new work does not come here any more, or the list is of before it did
	}
	shards := b.spec.Shards
	if b.shard == nil {
		shards = []int{self}
	}
	at := map[int]bool{NoNode: true} // nodes that work on it
	for _, p := range shards {
		if p < len(nodes) {
			at[nodes[p]] = true
		}
	}
	most = min(most, mostShards-len(shards))
	for _, n := range b.bounds {
		if n > 0 {
			most = min(most, int(n)-len(shards)) // one more would have no part
		}
	}
	sized := route.ShardsFor(b.spec.Items, route.MostShards(len(nodes))) - len(shards)
	order := route.Shards(b.spec.Tenant, shards[0], len(nodes), len(nodes))
	for _, p := range order {
		if len(more) < most && !at[nodes[p]] {
			at[nodes[p]] = true
			more = append(more, p)
		}
	}
	for _, p := range order {
		if len(more) < min(most, sized) && nodes[p] != NoNode && !slices.Contains(shards, p) && !slices.Contains(more, p) {
			more = append(more, p)
		}
	}
	return more
}

// divide makes a bulk action one that is shared, with its home as the only shard. The home keeps
// what it has begun, what an owner before may have begun that died, and a little more.
func (m *Machine) divide(now int64, b *bulk) {
	c := b.spec
	c.Shards, c.Range = []int{m.reach.Self}, c.grain()
	s := &shard{rest: c.Items, home: newHome(c)}
	b.shard = s
	if s.part = slices.Clone(b.bounds); s.part != nil { // it has had all until now
		s.home.parts.by[0] = granted{Part: slices.Clone(b.bounds), Held: slices.Clone(b.bounds), At: m.number + 1}
		s.home.parts.fresh = true
	}
	begun := (b.cursor + c.Range - 1) / c.Range
	for r := range c.ranges() {
		if from, _ := c.blocksOf(r); r > begun && c.position(from) >= b.opened+b.risk {
			break
		}
		s.home.grant(c, 0)
		s.ranges = append(s.ranges, r)
		s.given += c.itemsOf(r)
	}
	s.rest -= s.given
	s.begun = int(begun)
	s.end, s.base = min(begun*c.Range, c.Blocks()), c.position(b.cursor)
	b.seek()
	m.shared = append(m.shared, b)
	m.queue.SetBulk(now, b.queued, b.queueing())
	m.homeAlarm(now, b)
}

// extend makes room for more shards.
func (h *home) extend(n int) {
	h.lists = append(h.lists, make([][]uint32, n)...)
	h.items = append(h.items, make([]int64, n)...)
	h.last = append(h.last, make([]int, n)...)
	h.moved = append(h.moved, make([]int64, n)...)
	h.tallies = append(h.tallies, make([]Tally, n)...)
	h.fresh = append(h.fresh, make([]bool, n)...)
	h.told = append(h.told, make([]told, n)...)
	h.parts.extend(n)
}
