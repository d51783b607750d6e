package partition

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// homeShard returns the home's part of a bulk action; nil: it is not shared.
func homeShard(c *Created) *shard {
	if !c.Shared() {
		return nil
	}
	must(len(c.Shards) <= mostShards, "%s has %d shards", c.ID, len(c.Shards))
	s := &shard{rest: c.Items, home: newHome(c)}
	if s.home.parts.by != nil {
		s.part = slices.Clone(s.home.parts.by[0].Part) // nothing until a commit grants it
	}
	return s
}

// send adds a message that is sent once the generation is durable.
func (g *generation) send(to int, id weir.BulkID, e *envelope) {
	body, err := json.Marshal(e)
	must(err == nil, "encode message about %s: %v", id, err)
	g.sends = append(g.sends, Outgoing{Partition: to, Bulk: id, Body: body})
}

// writeShard adds the changes of a shared bulk action to the commit being cut, and the messages
// about them.
func (m *Machine) writeShard(now int64, b *store.Batch, g *generation, x *bulk) {
	id := x.spec.ID
	if x.away() {
		if x.shard.away.unsaved || x.state.Final() {
			b.Set = append(b.Set, SealJSON(shardKey(id), x.shardRow()))
			x.shard.away.unsaved = false
		}
		m.sendTally(now, g, x)
		return
	}
	h := x.shard.home
	if len(h.owners) > h.written {
		b.Set = append(b.Set, seal(ownersKey(id), append([]byte{}, h.owners...)))
		h.written = len(h.owners)
	}
	for i, fresh := range h.fresh {
		if fresh {
			b.Set = append(b.Set, SealJSON(tallyKey(id, i), &h.tallies[i]))
			h.fresh[i] = false
		}
	}
	if h.parts.fresh {
		b.Set = append(b.Set, SealJSON(partsKey(id), &partsRow{h.parts.by}))
		h.parts.fresh = false
	}
	if h.parts.by != nil {
		h.parts.sealed = slices.Clone(h.parts.by[0].Part)
	}
	h.sealed, h.own = append(h.sealed, h.own...), h.own[:0]
	m.sendOrders(now, g, x)
}

// shardRow returns the stored form of the shard's orders. For a shard that has ended it only
// records that it existed, which a takeover reads.
func (b *bulk) shardRow() *shardRow {
	s := b.shard
	row := &shardRow{Shard: s.no, Seen: s.away.seen, State: s.away.state}
	if !b.state.Final() {
		row.Rest, row.Ranges, row.Part = s.rest, s.ranges, s.part
	}
	return row
}

// loadShard reads this partition's part of a bulk action; nil: it is not shared.
func loadShard(rows Rows, c *Created) (*shard, error) {
	if !c.Shared() {
		return nil, nil
	}
	var row shardRow
	err := readJSON(rows, shardKey(c.ID), &row)
	if errors.Is(err, store.ErrNotFound) {
		return loadHome(rows, c)
	}
	if err != nil {
		return nil, err
	}
	if row.Shard <= 0 || row.Shard >= len(c.Shards) {
		return nil, fmt.Errorf("shard %d of %d: %w", row.Shard, len(c.Shards), store.ErrCorrupt)
	}
	s := &shard{no: row.Shard, rest: row.Rest, ranges: row.Ranges}
	s.away = &away{seen: row.Seen, state: row.State}
	if s.part = row.Part; len(s.part) != len(c.bounds()) {
		s.part = evenParts(c.bounds(), s.no, len(c.Shards))
	}
	return s, c.checkRanges(s.ranges)
}

func loadHome(rows Rows, c *Created) (*shard, error) {
	s := homeShard(c)
	h := s.home
	owners, err := readOwners(rows, c)
	if err != nil {
		return nil, err
	}
	for _, to := range owners {
		s.rest -= c.itemsOf(h.grant(c, int(to)))
	}
	h.written = len(owners)
	s.ranges = h.lists[0]
	if err := loadParts(rows, c, s); err != nil {
		return nil, err
	}
	return s, rows.Scan(rowKey(kindTally, c.ID), func(key, row []byte) error {
		var t Tally
		if err := UnsealJSON(key, row, &t); err != nil {
			return err
		}
		if i := int(key[len(key)-1]); i >= len(c.Shards) || i != t.Shard {
			return fmt.Errorf("tally of shard %d: %w", i, store.ErrCorrupt)
		}
		h.tallies[t.Shard] = t
		return nil
	})
}

// readOwners returns, for each range of a shared bulk action that was given out, which of its
// shards has it.
func readOwners(rows Rows, c *Created) ([]byte, error) {
	key := ownersKey(c.ID)
	row, err := rows.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	owners, err := unseal(key, row)
	if err != nil {
		return nil, err
	}
	if uint32(len(owners)) > c.ranges() {
		return nil, fmt.Errorf("%d ranges of %d: %w", len(owners), c.ranges(), store.ErrCorrupt)
	}
	for r, to := range owners {
		if int(to) >= len(c.Shards) {
			return nil, fmt.Errorf("range %d: %w: shard %d of %d", r, store.ErrCorrupt, to, len(c.Shards))
		}
	}
	return owners, nil
}

func (c *Created) checkRanges(list []uint32) error {
	for i, r := range list {
		if r >= c.ranges() || i > 0 && r <= list[i-1] {
			return fmt.Errorf("range %d: %w: there are %d, and they rise", r, store.ErrCorrupt, c.ranges())
		}
	}
	return nil
}

// regain puts a loaded shard's ranges under its cursor.
func (b *bulk) regain() {
	list := b.shard.ranges
	b.shard.ranges = nil
	for _, r := range list {
		b.give(r)
	}
}

// goOn makes the messages of a loaded bulk action again: those of the earlier owner may not
// have been sent.
func (m *Machine) goOn(now int64, b *bulk) {
	if b.atHome() {
		m.grantParts(now, b)
		m.topUp(now, b)
	}
	m.touch(b)
}

// loadOver loads the shards that have ended.
func (m *Machine) loadOver(rows Rows) error {
	return rows.Scan([]byte{kindShard}, func(key, _ []byte) error {
		if id := weir.BulkID(key[1:]); m.bulks[id] == nil {
			m.over[id] = true
		}
		return nil
	})
}
