package partition

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/store"
)

// The home of a shared bulk action grants each shard its part of the bulk action's own bounds.
//
// A part is granted by a commit, told by the orders that leave with it, and confirmed by a tally.
// Until a shard has confirmed a smaller part, what it had counts as held; only what no shard holds
// is granted to another. The home itself uses a larger part once the commit with it is confirmed.
// So whatever is lost or repeated, and whoever takes over, no more is in force than the bound.

const (
	// partsEvery is how often the parts are looked at again while a shard should have more.
	partsEvery = int64(100 * time.Millisecond)
	// lowerEvery is the least time between two moments at which parts become smaller.
	lowerEvery = int64(250 * time.Millisecond)
)

// granted is what a shard was granted of each bound, as stored.
type granted struct {
	Part []int64 `json:"part"`
	Held []int64 `json:"held"`         // the most that may be in force
	At   uint64  `json:"at,omitempty"` // number of the commit that last changed Part
}

// partsRow is the stored form of the parts of all shards.
type partsRow struct {
	Shards []granted `json:"shards"`
}

// parts is what the home knows of the parts of all shards.
type parts struct {
	by      []granted // by shard; nil: the bulk action has no bounds of its own
	fresh   bool      // they are not in the rows yet
	sealed  []int64   // the home's own part in the commit under way; nil: none
	lowered []int64   // by bound: when a part last became smaller
	looked  int64     // when they were last looked at
	lookAt  int64     // when they are looked at again; 0: no time is set
}

// newParts returns parts of which nothing is granted.
func newParts(bounds []int64, shards int) parts {
	if bounds == nil {
		return parts{}
	}
	p := parts{lowered: make([]int64, len(bounds))}
	p.extend(shards)
	return p
}

func (p *parts) extend(n int) {
	if p.lowered == nil {
		return
	}
	p.fresh = true
	for range n {
		p.by = append(p.by, granted{Part: make([]int64, len(p.lowered)), Held: make([]int64, len(p.lowered))})
	}
}

// idle reports whether a shard was granted nothing of one of the bounds.
func (p *parts) idle(bounds []int64, shard int) bool {
	for k, n := range bounds {
		if n > 0 && p.by[shard].Part[k] == 0 {
			return true
		}
	}
	return false
}

// grantParts divides the bounds by what the shards want.
func (m *Machine) grantParts(now int64, b *bulk) {
	if b.bounds == nil || !b.atHome() || b.held() || b.stopping() {
		return
	}
	p := &b.shard.home.parts
	p.looked = now
	m.holdOwn(now, b)
	asks, short := m.asks(now, b), false
	for k, bound := range b.bounds {
		if bound == 0 {
			continue
		}
		claims := make([]claim, len(p.by))
		for i := range claims {
			claims[i] = claim{p.by[i].Part[k], p.by[i].Held[k], m.wantOf(now, b, i, k, asks)}
			if i > 0 && len(b.shard.home.lists[i]) == 0 { // it has never had orders
				claims[i].held = claims[i].part
			}
		}
		lowered, more := share(bound, claims, now >= p.lowered[k]+b.lowerGap(k))
		if lowered {
			p.lowered[k] = now
		}
		short = short || more
		for i := range claims {
			m.grantPart(b, i, k, &claims[i])
		}
	}
	m.useLess(now, b)
	if short {
		m.lookAtParts(b, now+partsEvery)
	}
}

// lowerGap returns how long parts of a bound stay as they are before one becomes smaller. What a
// shard gives up of a rate is lost for a window.
func (b *bulk) lowerGap(k int) int64 {
	if k == 0 {
		return lowerEvery
	}
	return 2 * b.spec.windowOf(k)
}

// grantPart records what a shard has of a bound from the next commit on.
func (m *Machine) grantPart(b *bulk, shard, k int, c *claim) {
	p := &b.shard.home.parts
	g := &p.by[shard]
	if c.part != g.Part[k] {
		g.Part[k], g.At, p.fresh = c.part, m.number+1, true
		m.touch(b)
	}
	g.Held[k] = max(c.held, c.part)
}

// holdOwn updates what the home itself holds.
func (m *Machine) holdOwn(now int64, b *bulk) {
	g := &b.shard.home.parts.by[0]
	for k, n := range m.inForce(now, b) {
		if n == all {
			g.Held[k] = max(g.Held[k], g.Part[k])
			continue
		}
		g.Held[k] = max(n, g.Part[k])
	}
}

// useLess has the home keep to its own part at once, where that has become smaller.
func (m *Machine) useLess(now int64, b *bulk) {
	part := slices.Clone(b.shard.part)
	for k, n := range b.shard.home.parts.by[0].Part {
		part[k] = min(part[k], n)
	}
	m.setPart(now, b, part)
}

// useMore lets the home use the part that the confirmed commit grants it.
func (m *Machine) useMore(now int64, b *bulk) {
	p := &b.shard.home.parts
	if p.sealed == nil {
		return
	}
	part := p.sealed
	p.sealed = nil
	for k, n := range p.by[0].Part { // it may have become smaller since
		part[k] = min(part[k], n)
	}
	m.setPart(now, b, part)
}

// wantOf returns how much of a bound a shard wants. own is what the home wants.
func (m *Machine) wantOf(now int64, b *bulk, shard, k int, own []int64) int64 {
	h := b.shard.home
	if shard == 0 {
		return own[k]
	}
	t, have := &h.tallies[shard], len(h.lists[shard])
	switch {
	case t.ended() == h.items[shard] && (b.shard.rest == 0 || b.barred(shard, k) || b.nearEnd() && m.nodeHasMore(now, b, shard)):
		return 0 // it has no items, and gets none
	case t.Have < have || k >= len(t.Want):
		return all
	}
	return t.Want[k]
}

// barred reports whether a shard without items can begin none because of another bound, of which it
// has nothing, and of which there is nothing to be had. Bounds are divided in their order.
func (b *bulk) barred(shard, k int) bool {
	p := &b.shard.home.parts
	for j, n := range b.bounds {
		if j == k || n == 0 || p.by[shard].Part[j] > 0 {
			continue
		}
		for i := range p.by {
			n -= p.by[i].Held[j]
		}
		if j < k || n <= 0 {
			return true
		}
	}
	return false
}

// usedOf returns how much of a bound all shards use. own is what the home uses.
func (h *home) usedOf(k int, own int64) (sum int64) {
	sum = own
	for i := 1; i < len(h.parts.by); i++ {
		if want := h.tallies[i].Want; k < len(want) && want[k] != all {
			sum += min(want[k], h.parts.by[i].Part[k])
		} else {
			sum += h.parts.by[i].Part[k]
		}
	}
	return sum
}

// confirm takes what a tally says to be in force. Orders that the shard had not seen may still
// come to it.
func (p *parts) confirm(t *Tally) {
	if t.Shard >= len(p.by) {
		return
	}
	g := &p.by[t.Shard]
	for k := range min(len(g.Held), len(t.Held)) {
		held := g.Part[k]
		switch {
		case t.Held[k] == all || t.Seen < g.At:
			held = max(held, g.Held[k], t.Held[k])
		default:
			held = max(held, t.Held[k])
		}
		if held != g.Held[k] {
			g.Held[k], p.fresh = held, true
		}
	}
}

// rebound divides bounds that were changed, and were old by the spec was. No part becomes larger
// before the others are confirmed to be smaller, unless there was no bound.
func (m *Machine) rebound(b *bulk, was *Created, old []int64) {
	s, h := b.shard, b.shard.home
	before, own := h.parts.by, s.part
	h.parts = newParts(b.bounds, len(b.spec.Shards))
	h.parts.fresh, s.part = true, nil
	for i := range h.parts.by {
		g := &h.parts.by[i]
		g.At, g.Part = m.number+1, evenParts(b.bounds, i, len(h.parts.by))
		for k, bound := range b.bounds {
			switch {
			case old != nil && old[k] > 0:
				g.Part[k] = before[i].Part[k] * bound / max(old[k], bound)
				g.Held[k] = before[i].Held[k] * max(1, ceilDiv(b.spec.windowOf(k), was.windowOf(k)))
			case len(h.lists[i]) > 0 && bound > 0: // it may have any number in flight
				g.Held[k] = bound
			}
			g.Held[k] = max(g.Held[k], g.Part[k])
		}
	}
	if b.bounds == nil {
		return
	}
	s.part = slices.Clone(h.parts.by[0].Part)
	for k := range own {
		if old[k] > 0 {
			s.part[k] = min(s.part[k], own[k])
		}
	}
}

func ceilDiv(a, b int64) int64 {
	if b == 0 {
		return 1
	}
	return (a + b - 1) / b
}

// lookAtParts has the parts looked at again at a time.
func (m *Machine) lookAtParts(b *bulk, at int64) {
	if p := &b.shard.home.parts; p.lookAt == 0 || at < p.lookAt {
		p.lookAt = at
		m.waits.push(wait{due: at, bulk: b.spec.ID})
	}
}

// partsDue looks at the parts if it is time.
func (m *Machine) partsDue(now int64, b *bulk) {
	if p := &b.shard.home.parts; p.lookAt != 0 && now >= p.lookAt {
		p.lookAt = 0
		m.grantParts(now, b)
		m.topUp(now, b)
	}
}

// loadParts reads what the shards were granted. Without a row they have even parts, as before
// parts were granted.
func loadParts(rows Rows, c *Created, s *shard) error {
	bounds := c.bounds()
	if bounds == nil {
		return nil
	}
	p := &s.home.parts
	var row partsRow
	switch err := readJSON(rows, partsKey(c.ID), &row); {
	case errors.Is(err, store.ErrNotFound):
		for i := range p.by {
			p.by[i].Part = evenParts(bounds, i, len(c.Shards))
			p.by[i].Held = slices.Clone(p.by[i].Part)
			for k := range bounds {
				p.by[i].Held[k] = max(p.by[i].Part[k], min(bounds[k], 1))
			}
		}
	case err != nil:
		return err
	default:
		if len(row.Shards) != len(c.Shards) {
			return fmt.Errorf("parts of %d shards: %w: there are %d", len(row.Shards), store.ErrCorrupt, len(c.Shards))
		}
		for _, g := range row.Shards {
			if len(g.Part) != len(bounds) || len(g.Held) != len(bounds) {
				return fmt.Errorf("parts of %d bounds: %w: there are %d", len(g.Part), store.ErrCorrupt, len(bounds))
			}
		}
		p.by = row.Shards
	}
	s.part = slices.Clone(p.by[0].Part)
	return nil
}
