package partition

import (
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/store"
)

// Position returns the position in the bulk action of the first item of a block, from 0.
func (c *Created) Position(no uint32) int64 { return c.position(no) }

// Locate returns the block and index of the item at a position, which must exist.
func (c *Created) Locate(at int64) (no uint32, item int) {
	if c.Sizes == nil {
		return uint32(at / block.Size), int(at % block.Size)
	}
	for at >= int64(c.Sizes[no]) {
		at -= int64(c.Sizes[no])
		no++
	}
	return no, int(at)
}

// ReadSpec reads the spec of a bulk action, ended or not.
func ReadSpec(rows Rows, id weir.BulkID) (*Created, error) {
	spec := &Created{}
	return spec, readJSON(rows, specKey(id), spec)
}

// ReadBlock reads the state of one block, or returns store.ErrNotFound if this partition never
// touched it.
func ReadBlock(rows Rows, c *Created, no uint32) (*block.State, error) {
	key := blockKey(c.ID, no)
	row, err := rows.Get(key)
	if err != nil {
		return nil, err
	}
	raw, err := unseal(key, row)
	if err != nil {
		return nil, err
	}
	s := &block.State{}
	if err := s.Decode(raw, len(c.Steps)); err != nil {
		return nil, fmt.Errorf("block %d: %w: %w", no, store.ErrCorrupt, err)
	}
	return s, nil
}
