package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

var (
	_ store.Portable = (*Store)(nil)
	_ store.Portable = (*Spread)(nil)
)

// parts is what a snapshot needs of a store, one server or several.
type parts interface {
	store.Store
	of(partition int) *Store
}

func (s *Store) of(int) *Store { return s }

// snapshot reads the store page by page: Redis has no view of one moment over several calls.
type snapshot struct{ s parts }

// Snapshot implements [store.Portable].
func (s *Store) Snapshot(ctx context.Context) (store.Snapshot, error) {
	return snapshot{s}, s.enter(ctx)
}

// Snapshot implements [store.Portable].
func (s *Spread) Snapshot(ctx context.Context) (store.Snapshot, error) {
	return snapshot{s}, s.stores[0].enter(ctx)
}

// Close implements [store.Snapshot].
func (v snapshot) Close() error { return nil }

// Head implements [store.Snapshot].
func (v snapshot) Head(ctx context.Context, partition int) (store.Head, error) {
	last, err := v.s.Last(ctx, partition)
	if err != nil {
		return store.Head{}, err
	}
	h, s := store.Head{Number: last.Number}, v.s.of(partition)
	text, err := s.client.Do(ctx, s.client.B().Hget().Key(s.keysOf(partition).claims).Field("").Build()).ToString()
	switch {
	case rueidis.IsRedisNil(err):
		return h, nil
	case err != nil:
		return h, s.failed(ctx, "read the generation of the claims", partition, err)
	}
	if h.Generation, err = strconv.ParseUint(text, 10, 64); err != nil {
		return h, fmt.Errorf("generation of the claims of partition %d: %w: %w", partition, store.ErrCorrupt, err)
	}
	return h, nil
}

// blocksAtOnce bounds the blocks of one answer.
const blocksAtOnce = 64

// Blocks implements [store.Snapshot].
func (v snapshot) Blocks(ctx context.Context, partition int, yield func(id weir.BulkID, no uint32, block []byte) error) error {
	owners, err := v.s.BlockOwners(ctx, partition)
	if err != nil {
		return err
	}
	slices.Sort(owners)
	s := v.s.of(partition)
	for _, id := range owners {
		numbers, err := s.blockNumbers(ctx, partition, id)
		if err != nil {
			return err
		}
		for page := range slices.Chunk(numbers, blocksAtOnce) {
			if err := s.blocks(ctx, partition, id, page, yield); err != nil {
				return err
			}
		}
	}
	return nil
}

// blockNumbers lists the blocks of a bulk action in order.
func (s *Store) blockNumbers(ctx context.Context, partition int, id weir.BulkID) ([]uint32, error) {
	names, err := s.client.Do(ctx, s.client.B().Smembers().Key(s.keysOf(partition).numbers(id)).Build()).AsStrSlice()
	if err != nil {
		return nil, s.failed(ctx, "list blocks", partition, err)
	}
	numbers := make([]uint32, len(names))
	for i, name := range names {
		no, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("block %q of %s, partition %d: %w", name, id, partition, store.ErrCorrupt)
		}
		numbers[i] = uint32(no)
	}
	slices.Sort(numbers)
	return numbers, nil
}

// blocks yields the blocks of these numbers. One without content was never written: the index comes before the block.
func (s *Store) blocks(ctx context.Context, partition int, id weir.BulkID, numbers []uint32,
	yield func(id weir.BulkID, no uint32, block []byte) error) error {
	k, names := s.keysOf(partition), make([]string, len(numbers))
	for i, no := range numbers {
		names[i] = k.block(id, decimal(no))
	}
	held, err := s.client.Do(ctx, s.client.B().Mget().Key(names...).Build()).ToArray()
	if err != nil {
		return s.failed(ctx, "read blocks", partition, err)
	}
	for i, no := range numbers {
		if held[i].IsNil() {
			continue
		}
		sealed, err := held[i].AsBytes()
		if err != nil {
			return s.failed(ctx, "read blocks", partition, err)
		}
		block, err := blockPlace(partition, id, no).unseal("block "+string(id)+" "+decimal(no), partition, sealed)
		if err != nil {
			return err
		}
		if err := yield(id, no, block); err != nil {
			return err
		}
	}
	return nil
}

// Claims implements [store.Snapshot].
func (v snapshot) Claims(ctx context.Context, partition int, yield func(key string, value []byte) error) error {
	s := v.s.of(partition)
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		scan := s.client.B().Hscan().Key(s.keysOf(partition).claims).Cursor(cursor).Count(pageRows).Build()
		page, err := s.client.Do(ctx, scan).AsScanEntry()
		if err != nil {
			return s.failed(ctx, "read claims", partition, err)
		}
		for pair := range slices.Chunk(page.Elements, 2) {
			key := pair[0]
			if key == "" {
				continue // the generation, see Head
			}
			value, err := claimPlace(partition, key).unseal("claim "+key, partition, []byte(pair[1]))
			if err == nil {
				err = yield(key, value)
			}
			if err != nil {
				return err
			}
		}
		cursor = page.Cursor
	}
	return nil
}

// messagesAtOnce bounds the messages of one answer.
const messagesAtOnce = 100

// Messages implements [store.Snapshot].
func (v snapshot) Messages(ctx context.Context, partition int, yield func(body []byte) error) error {
	for after := uint64(0); ; {
		found, err := v.s.Peek(ctx, partition, after, messagesAtOnce)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, m := range found {
			if err := yield(m.Body); err != nil {
				return err
			}
			after = m.Seq
		}
	}
}

// Rows implements [store.Snapshot].
func (v snapshot) Rows(ctx context.Context, partition int, yield func(key, value []byte) error) error {
	for r := (store.Range{}); ; {
		rows, err := v.s.Page(ctx, partition, r, pageRows)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := yield(row.Key, row.Value); err != nil {
				return err
			}
			r.After = row.Key
		}
		if len(rows) < pageRows {
			return nil
		}
	}
}

// Records implements [store.Snapshot].
func (v snapshot) Records(ctx context.Context, yield func(r store.Record) error) error {
	for after := ""; ; {
		records, err := v.s.List(ctx, "", after, listAtOnce)
		if err != nil {
			return err
		}
		for _, r := range records {
			after = r.Name
			if r.Name == placeRecord {
				continue
			}
			if err := yield(r); err != nil {
				return err
			}
		}
		if len(records) < listAtOnce {
			return nil
		}
	}
}

// Advance implements [store.Portable].
func (s *Store) Advance(ctx context.Context, partition int, tok store.Token, number uint64) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if tok.Nonce == 0 {
		return store.ErrFenced // what a released lease leaves
	}
	k := s.keysOf(partition)
	reply, lag := s.writeScript(ctx, k, s.scripts.advance, []string{k.meta}, tokenText(tok), decimal(number))
	answer, err := reply.AsInt64()
	switch {
	case err != nil:
		return s.unsure(ctx, "advance", partition, err)
	case answer == 0:
		return store.ErrFenced
	case lag != nil:
		return s.lagging(ctx, "advance", partition, lag)
	case answer < 0:
		return &store.NumberError{Got: number, Want: uint64(-answer)}
	}
	return nil
}

// Advance implements [store.Portable].
func (s *Spread) Advance(ctx context.Context, partition int, tok store.Token, number uint64) error {
	return s.of(partition).Advance(ctx, partition, tok, number)
}
