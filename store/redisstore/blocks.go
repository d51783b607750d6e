package redisstore

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// PutBlocks writes the blocks and their index in one round trip. It returns when all are
// written, so an Append that follows cannot overtake them; in mode [Replicated] when the
// replicas have them, or a failover in between could keep only the message. It is repeatable,
// so a missing answer is an ordinary error.
func (s *Store) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	k := s.keysOf(partition)
	if len(blocks) == 0 {
		return s.failed(ctx, "put blocks", partition, s.keepsUp(ctx, k))
	}
	replies, lag := s.writeAll(ctx, k, func(b rueidis.Builder) []rueidis.Completed {
		return putBlocks(b, k, partition, id, first, blocks)
	})
	for _, r := range replies {
		if err := r.Error(); err != nil {
			return s.failed(ctx, "put blocks", partition, err)
		}
	}
	return s.failed(ctx, "put blocks", partition, lag)
}

// keepsUp returns an error if the replicas that a write needs are behind. A message that is written then may be read by its
// owner, lost with the primary and written again by its sender: it is better not written.
func (s *Store) keepsUp(ctx context.Context, k *keys) error {
	if s.opts.Mode != Replicated {
		return nil
	}
	_, lag := s.writeAll(ctx, k, func(rueidis.Builder) []rueidis.Completed { return make([]rueidis.Completed, 0, afterWrite) })
	return lag
}

// putBlocks returns the commands of PutBlocks. The index of a block is written before the
// block, so that no block is ever left behind.
func putBlocks(b rueidis.Builder, k *keys, partition int, id weir.BulkID, first uint32, blocks [][]byte) []rueidis.Completed {
	size := 0
	for _, block := range blocks {
		size += len(block) + sumLen
	}
	a, numbers := newArguments(len(blocks), size), make([]string, len(blocks))
	for i, block := range blocks {
		numbers[i] = decimal(first + uint32(i))
		a.addSealed(blockPlace(partition, id, first+uint32(i)), block)
	}
	sets := make([]rueidis.Completed, 0, len(blocks)+2+afterWrite)
	sets = append(sets,
		b.Sadd().Key(k.owners).Member(string(id)).Build(),
		b.Sadd().Key(k.numbers(id)).Member(numbers...).Build())
	for i, no := range numbers {
		sets = append(sets, b.Set().Key(k.block(id, no)).Value(a.list[i]).Build())
	}
	return sets
}

// GetBlock returns one block.
func (s *Store) GetBlock(ctx context.Context, partition int, id weir.BulkID, no uint32) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	get := s.client.B().Get().Key(s.keysOf(partition).block(id, decimal(no))).Build()
	block, err := s.bytes(ctx, "get block", partition, s.client.Do(ctx, get))
	if err != nil {
		return nil, err
	}
	return blockPlace(partition, id, no).unseal("block "+string(id)+" "+decimal(no), partition, block)
}

// bytes returns a reply; a nil reply means not found.
func (s *Store) bytes(ctx context.Context, what string, partition int, r rueidis.RedisResult) ([]byte, error) {
	b, err := r.AsBytes()
	switch {
	case rueidis.IsRedisNil(err):
		return nil, store.ErrNotFound
	case err != nil:
		return nil, s.failed(ctx, what, partition, err)
	}
	return b, nil
}

// unlinkAtOnce bounds how many keys one command frees.
const unlinkAtOnce = 500

// DeleteBlocks removes the blocks first and then their index, so that an interrupted call can
// be repeated.
func (s *Store) DeleteBlocks(ctx context.Context, partition int, id weir.BulkID) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	k := s.keysOf(partition)
	numbers, err := s.client.Do(ctx, s.client.B().Smembers().Key(k.numbers(id)).Build()).AsStrSlice()
	if err != nil {
		return s.failed(ctx, "delete blocks", partition, err)
	}
	var del []rueidis.Completed
	for from := 0; from < len(numbers); from += unlinkAtOnce {
		names := make([]string, 0, unlinkAtOnce)
		for _, no := range numbers[from:min(from+unlinkAtOnce, len(numbers))] {
			names = append(names, k.block(id, no))
		}
		del = append(del, s.client.B().Unlink().Key(names...).Build())
	}
	del = append(del,
		s.client.B().Srem().Key(k.owners).Member(string(id)).Build(),
		s.client.B().Unlink().Key(k.numbers(id)).Build())
	for _, r := range s.client.DoMulti(ctx, del...) {
		if err := r.Error(); err != nil {
			return s.failed(ctx, "delete blocks", partition, err)
		}
	}
	return nil
}

// BlockOwners lists the bulk actions that have blocks, in no particular order.
func (s *Store) BlockOwners(ctx context.Context, partition int) ([]weir.BulkID, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	names, err := s.client.Do(ctx, s.client.B().Smembers().Key(s.keysOf(partition).owners).Build()).AsStrSlice()
	if err != nil {
		return nil, s.failed(ctx, "list block owners", partition, err)
	}
	ids := make([]weir.BulkID, len(names))
	for i, name := range names {
		ids[i] = weir.BulkID(name)
	}
	return ids, nil
}
