package partition

import (
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// A bulk action that ended long ago is removed in steps, each a commit of bounded
// size. The first takes its spec and its status away and leaves a tombstone and a
// marker: from then on it is gone for whoever asks. Further ones remove its other
// rows, the last one the marker. An owner that finds markers goes on where the
// last one stopped; which rows are left is all that it needs to know. Shards are
// removed by their own partitions, by the time at which they heard of the end.

// removeRows is how many rows a commit removes at most, of those that a bulk action has many of.
const removeRows = 1000

// manyKinds are the kinds of row of which a bulk action can have any number.
var manyKinds = [...]byte{kindBlock, kindResults, kindGroup, kindLatency, kindTally, kindEvent, kindOwners}

// Tombstone is what is left of a bulk action that was removed.
type Tombstone struct {
	Ended   int64 `json:"ended"`
	Removed int64 `json:"removed"`
}

// Removal is one step of removing a bulk action, or what is left of one.
type Removal struct {
	ID   weir.BulkID
	Last bool // nothing is left afterwards but what is meant to be

	forget bool // not even a tombstone
	set    []store.Row
	delete [][]byte
}

func tombstoneKey(id weir.BulkID) []byte { return rowKey(kindTombstone, id) }
func removingKey(id weir.BulkID) []byte  { return rowKey(kindRemoving, id) }

// Expired lists bulk actions and shards that have ended and are over, oldest id
// first. Ids from the one on that young is true for are not looked at.
func Expired(rows Rows, young func(weir.BulkID) bool, over func(*Created, *Status) bool) ([]weir.BulkID, error) {
	ids, err := oldest(rows, kindSpec, young)
	if err != nil {
		return nil, err
	}
	var expired []weir.BulkID
	for _, id := range ids {
		spec, status, err := ReadStatus(rows, id)
		if err != nil {
			return nil, err
		}
		if status.State.Final() && over(spec, status) {
			expired = append(expired, id)
		}
	}
	return expired, nil
}

var errYoung = errors.New("this one and those after it are too young")

// oldest lists the ids of rows of a kind, up to the first that is young.
func oldest(rows Rows, kind byte, young func(weir.BulkID) bool) (ids []weir.BulkID, err error) {
	err = rows.Scan([]byte{kind}, func(key, _ []byte) error {
		id := weir.BulkID(key[1:])
		if young(id) {
			return errYoung
		}
		ids = append(ids, id)
		return nil
	})
	if errors.Is(err, errYoung) {
		err = nil
	}
	return ids, err
}

// Removing lists the bulk actions whose removal has begun.
func Removing(rows Rows) ([]weir.BulkID, error) {
	return oldest(rows, kindRemoving, func(weir.BulkID) bool { return false })
}

// NextRemoval is the next step of removing a bulk action that has ended.
func NextRemoval(now int64, rows Rows, id weir.BulkID) (*Removal, error) {
	r := &Removal{ID: id}
	_, status, err := ReadStatus(rows, id)
	switch {
	case err == nil:
		r.set = []store.Row{SealJSON(tombstoneKey(id), Tombstone{status.Finished, now}), {Key: removingKey(id)}}
		r.delete = [][]byte{specKey(id), statusKey(id)}
		return r, nil
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	for _, kind := range manyKinds {
		err := rows.Scan(rowKey(kind, id), func(key, _ []byte) error {
			if len(r.delete) == removeRows {
				return errEnough
			}
			r.delete = append(r.delete, append([]byte(nil), key...))
			return nil
		})
		if errors.Is(err, errEnough) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
	}
	r.Last = len(r.delete) == 0
	if r.Last {
		r.delete = [][]byte{removingKey(id)}
	}
	return r, nil
}

var errEnough = errors.New("these are enough for one commit")

// Forgettable lists the tombstones of bulk actions that were removed before a
// time. Ids from the one on that young is true for are not looked at.
func Forgettable(rows Rows, young func(weir.BulkID) bool, before int64) ([]weir.BulkID, error) {
	ids, err := oldest(rows, kindTombstone, young)
	if err != nil {
		return nil, err
	}
	var list []weir.BulkID
	for _, id := range ids {
		t, err := ReadTombstone(rows, id)
		if err != nil {
			return nil, err
		}
		if t.Removed < before {
			list = append(list, id)
		}
	}
	return list, nil
}

// Forget is the removal of a tombstone, and of what kept orders that come late from starting a shard again.
func Forget(id weir.BulkID) *Removal {
	return &Removal{ID: id, Last: true, forget: true, delete: [][]byte{tombstoneKey(id), shardKey(id)}}
}

// ReadTombstone tells of a bulk action that was removed, or answers store.ErrNotFound.
func ReadTombstone(rows Rows, id weir.BulkID) (t Tombstone, err error) {
	return t, readJSON(rows, tombstoneKey(id), &t)
}

// Remove has the next commit carry out a removal; Effects tells when it is durable.
func (m *Machine) Remove(r *Removal) {
	must(m.bulks[r.ID] == nil, "%s is removed and has not ended", r.ID)
	m.gen.removals = append(m.gen.removals, r)
}

// writeRemovals adds what removals remove.
func (m *Machine) writeRemovals(b *store.Batch, g *generation) {
	for _, r := range g.removals {
		b.Set = append(b.Set, r.set...)
		b.Delete = append(b.Delete, r.delete...)
	}
}

// removed takes note of removals that are durable.
func (m *Machine) removed(g *generation) {
	m.removals += len(g.removals)
	for _, r := range g.removals {
		if r.forget {
			delete(m.over, r.ID)
		}
	}
}
