package partition

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

const (
	loadAtOnce  = 256 // bulk actions whose rows are read together
	blocksAhead = 4   // more blocks than these are scanned, since few of them may have rows
)

// Unknown lists those of the bulk actions that have no spec.
func Unknown(rows ManyRows, ids []weir.BulkID) (unknown []weir.BulkID, err error) {
	err = eachSpec(rows, ids, func(id weir.BulkID, _, spec []byte) error {
		if spec == nil {
			unknown = append(unknown, id)
		}
		return nil
	})
	return unknown, err
}

// Adopted lists those of the names of stages whose blocks belong to a bulk action that has a row.
func Adopted(rows ManyRows, names []weir.BulkID) (map[weir.BulkID]bool, error) {
	byID := map[weir.BulkID][]weir.BulkID{}
	for _, name := range names {
		id, _, _ := StageOf(name)
		byID[id] = append(byID[id], name)
	}
	adopted := map[weir.BulkID]bool{}
	err := eachSpec(rows, slices.Sorted(maps.Keys(byID)), func(id weir.BulkID, key, spec []byte) error {
		if spec == nil {
			return nil
		}
		c := &Created{}
		if err := UnsealJSON(key, spec, c); err != nil {
			return err
		}
		for _, name := range byID[id] {
			adopted[name] = c.Adopts(name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return adopted, nil
}

// eachSpec calls yield with the key and the row of each bulk action's spec, which is nil if it has none.
func eachSpec(rows ManyRows, ids []weir.BulkID, yield func(id weir.BulkID, key, spec []byte) error) error {
	for some := range slices.Chunk(ids, loadAtOnce) {
		keys := make([][]byte, len(some))
		for i, id := range some {
			keys[i] = specKey(id)
		}
		specs, err := rows.GetMany(keys)
		if err != nil {
			return err
		}
		for i, id := range some {
			if err := yield(id, keys[i], specs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// ahead holds the rows of several bulk actions that are loaded next. Reading them together
// takes two calls of the store instead of several for each. Rows that it does not hold, such as
// those of bulk actions with many blocks, are read from the store as usual.
type ahead struct {
	ManyRows
	bulks []stored
	rows  map[string][]byte   // by key; nil: not in the store
	scans map[string][][]byte // the keys that a scan may find, in order, by prefix
}

// stored is a bulk action as read from its rows.
type stored struct {
	spec   *Created
	status Status
}

// readAhead reads the rows that loading the bulk actions needs.
func readAhead(rows ManyRows, ids []weir.BulkID) (*ahead, error) {
	a := &ahead{ManyRows: rows, bulks: make([]stored, len(ids)), rows: map[string][]byte{}, scans: map[string][][]byte{}}
	keys := make([][]byte, 0, 2*len(ids))
	for _, id := range ids {
		keys = append(keys, specKey(id), statusKey(id))
	}
	if err := a.read(keys); err != nil {
		return nil, err
	}
	keys = keys[:0]
	for i, id := range ids {
		b := &a.bulks[i]
		b.spec = &Created{}
		if err := readStatus(a, id, b.spec, &b.status); err != nil {
			return nil, fmt.Errorf("load %s: %w", id, err)
		}
		keys = b.spec.appendKeys(keys)
	}
	if err := a.read(keys); err != nil {
		return nil, err
	}
	for i := range a.bulks {
		a.expect(a.bulks[i].spec)
	}
	return a, nil
}

// appendKeys appends the keys of rows that the bulk action may have beside spec and status.
func (c *Created) appendKeys(keys [][]byte) [][]byte {
	keys = append(keys, groupKey(c.ID, 0))
	for i := range c.Steps {
		keys = append(keys, latencyKey(c.ID, i))
	}
	if c.fewBlocks() {
		for no := range c.Blocks() {
			keys = append(keys, blockKey(c.ID, no))
		}
	}
	return keys
}

func (c *Created) fewBlocks() bool { return c.Blocks() <= blocksAhead }

// expect records the scans of a bulk action that find nothing beyond what was read.
func (a *ahead) expect(c *Created) {
	if a.rows[string(groupKey(c.ID, 0))] == nil { // they are numbered from 0, so none exists
		a.scans[string(rowKey(kindGroup, c.ID))] = nil
	}
	if c.fewBlocks() {
		var keys [][]byte
		for no := range c.Blocks() {
			keys = append(keys, blockKey(c.ID, no))
		}
		a.scans[string(rowKey(kindBlock, c.ID))] = keys
	}
}

func (a *ahead) read(keys [][]byte) error {
	values, err := a.GetMany(keys)
	if err != nil {
		return err
	}
	for i, key := range keys {
		a.rows[string(key)] = values[i]
	}
	return nil
}

// Get implements Rows.
func (a *ahead) Get(key []byte) ([]byte, error) {
	row, read := a.rows[string(key)]
	switch {
	case !read:
		return a.ManyRows.Get(key)
	case row == nil:
		return nil, store.ErrNotFound
	}
	return row, nil
}

// Scan implements Rows.
func (a *ahead) Scan(prefix []byte, yield func(key, value []byte) error) error {
	keys, read := a.scans[string(prefix)]
	if !read {
		return a.ManyRows.Scan(prefix, yield)
	}
	for _, key := range keys {
		if row := a.rows[string(key)]; row != nil {
			if err := yield(key, row); err != nil {
				return err
			}
		}
	}
	return nil
}
