package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

var _ store.Portable = (*Store)(nil)

// snapshot is a view of the whole store as of one moment. Writes go on meanwhile; what they replace takes up space until
// the view is closed.
type snapshot struct {
	s    *Store
	view *pebble.Snapshot
}

// Snapshot implements [store.Portable]. What the view shows is durable.
func (s *Store) Snapshot(ctx context.Context) (store.Snapshot, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	view := s.db.NewSnapshot()
	if err := s.flush(); err != nil {
		s.gate.leave()
		return nil, errors.Join(err, view.Close())
	}
	return &snapshot{s, view}, nil // Close of the store waits until the view is closed
}

// Close implements [store.Snapshot].
func (v *snapshot) Close() error {
	defer v.s.gate.leave()
	return v.view.Close()
}

// Head implements [store.Snapshot].
func (v *snapshot) Head(ctx context.Context, partition int) (h store.Head, err error) {
	err = v.each(ctx, prefix(kindMeta, partition), func(_, value []byte) error {
		var err error
		h.Number, _, _, err = decodeMeta(value)
		return err
	})
	if err != nil {
		return h, err
	}
	// The generation is the claim with an empty key.
	first := claimKey(partition, "")
	return h, v.within(ctx, first, append(claimKey(partition, ""), 0), func(_, value []byte) error {
		if len(value) != 8 {
			return fmt.Errorf("generation of the claims of partition %d: %w", partition, store.ErrCorrupt)
		}
		h.Generation = binary.BigEndian.Uint64(value)
		return nil
	})
}

// Blocks implements [store.Snapshot].
func (v *snapshot) Blocks(ctx context.Context, partition int, yield func(id weir.BulkID, no uint32, block []byte) error) error {
	return v.each(ctx, prefix(kindBlock, partition), func(key, value []byte) error {
		id, whole := blockOwner(key)
		if !whole {
			return fmt.Errorf("key %x of a block: %w", key, store.ErrCorrupt)
		}
		return yield(id, binary.BigEndian.Uint32(key[len(key)-4:]), value)
	})
}

// Claims implements [store.Snapshot].
func (v *snapshot) Claims(ctx context.Context, partition int, yield func(key string, value []byte) error) error {
	return v.each(ctx, prefix(kindClaim, partition), func(key, value []byte) error {
		if len(key) == prefixLen {
			return nil // the generation, see Head
		}
		return yield(string(key[prefixLen:]), value)
	})
}

// Messages implements [store.Snapshot].
func (v *snapshot) Messages(ctx context.Context, partition int, yield func(body []byte) error) error {
	return v.each(ctx, prefix(kindInbox, partition), func(_, value []byte) error { return yield(value) })
}

// Rows implements [store.Snapshot].
func (v *snapshot) Rows(ctx context.Context, partition int, yield func(key, value []byte) error) error {
	return v.each(ctx, prefix(kindRow, partition), func(key, value []byte) error { return yield(key[prefixLen:], value) })
}

// Records implements [store.Snapshot].
func (v *snapshot) Records(ctx context.Context, yield func(r store.Record) error) error {
	return v.each(ctx, recordKey(""), func(key, sealed []byte) error {
		name := string(key[prefixLen:])
		value, err := store.UnsealRecord(name, sealed)
		if err != nil {
			return err
		}
		return yield(store.Record{Name: name, Value: value})
	})
}

// each visits the keys that begin with p.
func (v *snapshot) each(ctx context.Context, p []byte, visit func(key, value []byte) error) error {
	return v.within(ctx, p, after(append([]byte(nil), p...)), visit)
}

// within visits the keys of a range.
func (v *snapshot) within(ctx context.Context, from, to []byte, visit func(key, value []byte) error) error {
	if err := v.s.guard.err(); err != nil {
		return err
	}
	it, err := v.view.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return readError(err)
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		if err = ctx.Err(); err != nil {
			break
		}
		var value []byte
		if value, err = it.ValueAndErr(); err != nil {
			err = readError(err)
			break
		}
		err = visit(it.Key(), value)
	}
	if err != nil {
		return errors.Join(err, it.Close())
	}
	return readErrorOrNil(it.Close())
}

// Advance implements [store.Portable].
func (s *Store) Advance(ctx context.Context, partition int, tok store.Token, number uint64) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	p, err := s.partition(partition)
	if err != nil {
		return err
	}
	b, err := s.advance(p, tok, number)
	if err != nil {
		return err
	}
	if err := s.settle(b); err != nil {
		return err
	}
	raise(&p.durableNumber, number)
	return nil
}

func (s *Store) advance(p *partition, tok store.Token, number uint64) (*pebble.Batch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.valid(tok) {
		return nil, store.ErrFenced
	}
	if number <= p.number {
		return nil, &store.NumberError{Got: number, Want: p.number + 1}
	}
	b := s.db.NewBatch()
	if err := b.Set(prefix(kindMeta, p.no), encodeMeta(number, p.acked, tok), nil); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := s.enqueue(b); err != nil {
		return nil, err
	}
	p.number, p.by = number, tok
	return b, nil
}
