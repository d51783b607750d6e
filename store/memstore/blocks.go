package memstore

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// PutBlocks keeps copies of the blocks.
func (s *Store) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return err
	}
	defer p.mu.Unlock()
	if len(blocks) == 0 {
		return nil
	}
	of := p.blocks[id]
	if of == nil {
		of = make(map[uint32][]byte, len(blocks))
		p.blocks[id] = of
	}
	for i, b := range blocks {
		of[first+uint32(i)] = clone(b)
	}
	return nil
}

// GetBlock returns a copy of one block.
func (s *Store) GetBlock(ctx context.Context, partition int, id weir.BulkID, no uint32) ([]byte, error) {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return nil, err
	}
	b, ok := p.blocks[id][no]
	p.mu.Unlock()
	if !ok {
		return nil, store.ErrNotFound
	}
	return clone(b), nil
}

// DeleteBlocks removes all blocks of a bulk action.
func (s *Store) DeleteBlocks(ctx context.Context, partition int, id weir.BulkID) error {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return err
	}
	defer p.mu.Unlock()
	delete(p.blocks, id)
	return nil
}

// BlockOwners lists the bulk actions that have blocks, in order of their ids.
func (s *Store) BlockOwners(ctx context.Context, partition int) ([]weir.BulkID, error) {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return nil, err
	}
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.blocks)), nil
}

// clone copies b; unlike bytes.Clone it returns an empty slice for nil, as a disk would.
func clone(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return bytes.Clone(b)
}
