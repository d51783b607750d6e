package partition

import (
	"encoding/binary"
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// A bulk action that ended long ago is removed in several commits of bounded size. The first
// removes its spec and its status and leaves a tombstone and a marker: from then on it is not
// found. Further commits remove its other rows, the last one the marker. A new owner that finds
// markers continues from the rows that are left. Each partition removes its own shards, by the
// time at which they heard of the end.

// removeRows is about the largest number of rows that a commit removes.
const removeRows = 1000

// fewKinds lists the kinds of row of which a bulk action has a few hundred at most. Of blocks
// and results it can have any number.
var fewKinds = [...]byte{kindGroup, kindLatency, kindTally, kindEvent, kindOwners, kindParts}

// Tombstone is the record of a bulk action that was removed.
type Tombstone struct {
	Ended   int64 `json:"ended"`
	Removed int64 `json:"removed"`
}

// Removal is one step of removing a bulk action or its tombstone, or the one by which a joint filter begins to count: all
// that changes rows of bulk actions that have ended, one step after the other.
type Removal struct {
	ID   weir.BulkID
	Last bool // nothing else is left to remove
	// Stages lists the names, other than the id, under which its blocks are stored. Set with Last.
	Stages []weir.BulkID

	// Dropped lists joint filters whose pages nothing needs any more, once the step is durable.
	Dropped []weir.BulkID

	forget bool // remove the tombstone as well
	failed bool // it is the first step of a bulk action with failed items
	set    []store.Row
	delete [][]byte
}

// removing is the marker of a removal under way.
type removing struct {
	Blocks uint32        `json:"blocks"`           // that the bulk action has
	Next   uint32        `json:"next"`             // blocks before it have no rows left
	Stages []weir.BulkID `json:"stages,omitempty"` // names, other than the id, under which blocks are stored
}

func tombstoneKey(id weir.BulkID) []byte { return rowKey(kindTombstone, id) }
func removingKey(id weir.BulkID) []byte  { return rowKey(kindRemoving, id) }

// Expired lists those of the next bulk actions and shards that have ended and for which over returns true, oldest id
// first, and where to go on; "": no older ones are left. It reads up to limit, from the one after an id up to the first
// for which young returns true.
func Expired(rows PagedRows, after weir.BulkID, limit int, young func(weir.BulkID) bool, over func(*Created, *Status) bool,
) (expired []weir.BulkID, next weir.BulkID, err error) {
	ids, next, err := oldestAfter(rows, kindSpec, after, limit, young)
	if err != nil {
		return nil, "", err
	}
	all, err := ReadAll(rows, ids)
	if err != nil {
		return nil, "", err
	}
	for i, s := range all {
		if s != nil && s.Status.State.Final() && over(s.Spec, s.Status) {
			expired = append(expired, ids[i])
		}
	}
	return expired, next, nil
}

// Due lists up to limit bulk actions and shards that are kept for a time of their own, which is over.
func Due(rows PagedRows, now int64, limit int) (ids []weir.BulkID, err error) {
	page, err := rows.Page(store.Range{Prefix: []byte{kindDue}, Before: dueKey(now, "")}, limit)
	if err != nil {
		return nil, err
	}
	for _, r := range page {
		id, err := indexed(r.Key)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// oldestAfter lists up to limit ids of rows of a kind, from the one after an id up to the first that is young, and where to
// go on; "": nowhere.
func oldestAfter(rows PagedRows, kind byte, after weir.BulkID, limit int, young func(weir.BulkID) bool,
) (ids []weir.BulkID, next weir.BulkID, err error) {
	page, err := rows.Page(store.Range{Prefix: []byte{kind}, After: rowKey(kind, after)}, limit)
	for _, r := range page {
		id := weir.BulkID(r.Key[1:])
		if young(id) {
			return ids, "", err
		}
		ids = append(ids, id)
	}
	if len(page) == limit {
		next = ids[limit-1]
	}
	return ids, next, err
}

// Removing lists the bulk actions whose removal is under way.
func Removing(rows Rows) (ids []weir.BulkID, err error) {
	err = eachID(rows, kindRemoving, "", func(id weir.BulkID) error {
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// NextRemoval returns the next step of removing a bulk action that has ended.
func NextRemoval(now int64, rows Rows, id weir.BulkID) (*Removal, error) {
	spec, status, err := ReadStatus(rows, id)
	if err == nil {
		r := beginRemoval(now, spec, status)
		return r, r.leaveJoint(rows, spec)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	var at removing
	if err := readJSON(rows, removingKey(id), &at); err != nil {
		return nil, err
	}
	r := &Removal{ID: id}
	for at.Next < at.Blocks && len(r.delete) < removeRows {
		if err := r.addBlocks(rows, &at); err != nil {
			return nil, err
		}
	}
	if at.Next >= at.Blocks && len(r.delete) < removeRows {
		if err := r.addFew(rows); err != nil {
			return nil, err
		}
	}
	if r.Last = len(r.delete) == 0; r.Last {
		r.delete, r.Stages = [][]byte{removingKey(id)}, at.Stages
	} else {
		r.set = []store.Row{SealJSON(removingKey(id), &at)}
	}
	return r, nil
}

func beginRemoval(now int64, c *Created, s *Status) *Removal {
	gone := [][]byte{specKey(c.ID), statusKey(c.ID), inlineKey(c.ID)}
	for _, r := range IndexRows(c, s) {
		gone = append(gone, r.Key)
	}
	return &Removal{
		ID: c.ID, failed: s.Failed > 0,
		set: []store.Row{SealJSON(tombstoneKey(c.ID), Tombstone{s.Finished, now}),
			SealJSON(removingKey(c.ID), &removing{Blocks: c.Blocks(), Stages: c.Stages()})},
		delete: gone,
	}
}

// blocksAtOnce is the number of blocks that are scanned together: those that share the first
// three bytes of their number. Some stores read all that a scan can yield before it yields the
// first.
const blocksAtOnce = 256

// addBlocks adds the rows of the next blocks, as far as there is room. at advances past blocks
// without rows.
func (r *Removal) addBlocks(rows Rows, at *removing) error {
	var touched []uint32
	prefix := blockKey(r.ID, at.Next)
	err := rows.Scan(prefix[:len(prefix)-1], func(key, _ []byte) error {
		touched = append(touched, binary.BigEndian.Uint32(key[len(key)-4:]))
		return nil
	})
	for _, no := range touched {
		if err == nil {
			err = r.addAll(rows, resultsPrefix(r.ID, no))
		}
		if err != nil || len(r.delete) >= removeRows {
			return err // the rows left make the next step come back to this block
		}
		r.delete = append(r.delete, blockKey(r.ID, no))
	}
	at.Next += blocksAtOnce
	return err
}

// addFew adds the rows of the kinds in fewKinds.
func (r *Removal) addFew(rows Rows) error {
	for _, kind := range fewKinds {
		if err := r.addAll(rows, rowKey(kind, r.ID)); err != nil {
			return err
		}
	}
	return nil
}

// addAll adds the rows with a prefix, as far as there is room.
func (r *Removal) addAll(rows Rows, prefix []byte) error {
	err := rows.Scan(prefix, func(key, _ []byte) error {
		if len(r.delete) >= removeRows {
			return errEnough
		}
		r.delete = append(r.delete, append([]byte(nil), key...))
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

var errEnough = errors.New("these are enough for one commit")

// Forgettable lists those of the next tombstones that were made before a time, and where to go on, as [Expired] does.
func Forgettable(rows PagedRows, after weir.BulkID, limit int, young func(weir.BulkID) bool, before int64,
) (list []weir.BulkID, next weir.BulkID, err error) {
	ids, next, err := oldestAfter(rows, kindTombstone, after, limit, young)
	if err != nil {
		return nil, "", err
	}
	for _, id := range ids {
		t, err := ReadTombstone(rows, id)
		if err != nil {
			return nil, "", err
		}
		if t.Removed < before {
			list = append(list, id)
		}
	}
	return list, next, nil
}

// Forget returns the removal of a tombstone, and of the record that keeps late orders from
// starting a shard again.
func Forget(id weir.BulkID) *Removal {
	return &Removal{ID: id, Last: true, forget: true, delete: [][]byte{tombstoneKey(id), shardKey(id)}}
}

// ReadTombstone returns the tombstone of a bulk action, or store.ErrNotFound.
func ReadTombstone(rows Rows, id weir.BulkID) (t Tombstone, err error) {
	return t, readJSON(rows, tombstoneKey(id), &t)
}

// Remove adds a removal to the next commit; Effects reports when it is durable.
func (m *Machine) Remove(r *Removal) {
	must(m.bulks[r.ID] == nil, "%s is removed and has not ended", r.ID)
	m.gen.removals = append(m.gen.removals, r)
}

// Write adds the changes to a commit.
func (r *Removal) Write(b *store.Batch) {
	b.Set = append(b.Set, r.set...)
	b.Delete = append(b.Delete, r.delete...)
}

// writeRemovals adds the deletions of removals.
func (m *Machine) writeRemovals(b *store.Batch, g *generation) {
	for _, r := range g.removals {
		r.Write(b)
		if r.failed {
			g.noteFailing(r.ID)
		}
	}
}

// removed counts removals that are durable.
func (m *Machine) removed(g *generation) {
	m.removals += len(g.removals)
	for _, r := range g.removals {
		if r.forget {
			delete(m.over, r.ID)
		}
	}
}
