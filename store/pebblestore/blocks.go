package pebblestore

import (
	"context"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir"
)

// PutBlocks writes blocks without waiting for the disk: the Append that makes them count comes
// behind them in the log.
func (s *Store) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	if err := s.space.allow(s, bigMessage); err != nil {
		return err
	}
	key, err := blocksKey(partition, id)
	if err != nil {
		return err
	}
	for len(blocks) > 0 {
		n, size := cut(blocks)
		b := s.db.NewBatchWithSize(size + n*(len(key)+16))
		for i, block := range blocks[:n] {
			k := binary.BigEndian.AppendUint32(key, first+uint32(i))
			if err := b.Set(k, block, nil); err != nil {
				return err
			}
		}
		if err := s.lazily(b); err != nil {
			return err
		}
		blocks, first = blocks[n:], first+uint32(n)
	}
	return nil
}

// cut returns how many of the blocks go into one batch, and their size: at least one, up to
// batchBytes.
func cut(blocks [][]byte) (n, size int) {
	for n < len(blocks) && (n == 0 || size+len(blocks[n]) <= batchBytes) {
		size += len(blocks[n])
		n++
	}
	return n, size
}

// GetBlock returns one block.
func (s *Store) GetBlock(ctx context.Context, partition int, id weir.BulkID, no uint32) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	key, err := blocksKey(partition, id)
	if err != nil {
		return nil, err
	}
	return s.get(binary.BigEndian.AppendUint32(key, no))
}

// DeleteBlocks removes a bulk action's blocks.
func (s *Store) DeleteBlocks(ctx context.Context, partition int, id weir.BulkID) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	from, err := blocksKey(partition, id)
	if err != nil {
		return err
	}
	to, err := blocksKey(partition, id)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	if err := s.removeRange(b, from, after(to)); err != nil {
		return err
	}
	return s.lazily(b)
}

// BlockOwners lists the bulk actions that have blocks. It seeks from one to the next.
func (s *Store) BlockOwners(ctx context.Context, partition int) ([]weir.BulkID, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: prefix(kindBlock, partition),
		UpperBound: after(prefix(kindBlock, partition)),
	})
	if err != nil {
		return nil, readError(err)
	}
	var owners []weir.BulkID
	for ok := it.First(); ok; {
		id, whole := blockOwner(it.Key())
		if !whole {
			ok = it.Next()
			continue
		}
		owners = append(owners, id)
		next, err := blocksKey(partition, id)
		if err != nil {
			break
		}
		ok = it.SeekGE(after(next))
	}
	return owners, readErrorOrNil(it.Close())
}
