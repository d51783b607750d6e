package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/store"
)

// Commit writes b as one batch and waits for the disk, sharing the sync with concurrent calls.
func (s *Store) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	p, err := s.partition(partition)
	if err != nil {
		return err
	}
	batch, err := s.commit(p, tok, b)
	if err != nil {
		return err
	}
	if err := s.settle(batch); err != nil {
		return err
	}
	raise(&p.durableNumber, b.Number)
	return nil
}

// commit checks token and number, and puts the batch into the log.
func (s *Store) commit(p *partition, tok store.Token, b *store.Batch) (*pebble.Batch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.valid(tok) {
		return nil, store.ErrFenced
	}
	if b.Number != p.number+1 {
		return nil, &store.NumberError{Got: b.Number, Want: p.number + 1}
	}
	acked := max(p.acked, min(b.Ack, p.last))
	batch, err := s.encode(p, tok, b, acked)
	if err != nil {
		return nil, err
	}
	if err := s.enqueue(batch); err != nil {
		return nil, err
	}
	p.number, p.by, p.acked = b.Number, tok, acked
	p.recent.forget(acked)
	return batch, nil
}

// encode writes deletes before sets, so that a row both deleted and set is set. Sets are in the order of their keys: the
// memtable then finds the place of a row from that of the one before. Of two for one key the later one counts.
func (s *Store) encode(p *partition, tok store.Token, b *store.Batch, acked uint64) (*pebble.Batch, error) {
	size := 128
	for _, r := range b.Set {
		size += len(r.Key) + len(r.Value) + 16
	}
	batch := s.db.NewBatchWithSize(size + 32*len(b.Delete))
	key := prefix(kindRow, p.no)
	var err error
	for _, k := range b.Delete {
		err = errors.Join(err, batch.Delete(append(key, k...), nil))
	}
	for _, i := range inOrder(b.Set) {
		r := &b.Set[i]
		err = errors.Join(err, batch.Set(append(key, r.Key...), r.Value, nil))
	}
	if acked > p.acked {
		err = errors.Join(err, removeMessages(batch, p.no, p.acked+1, acked))
	}
	return batch, errors.Join(err, batch.Set(prefix(kindMeta, p.no), encodeMeta(b.Number, acked, tok), nil))
}

// inOrder returns the places of rows by their keys.
func inOrder(rows []store.Row) []int {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(bytes.Compare(rows[a].Key, rows[b].Key), a-b) })
	return order
}

// Last returns the last commit.
func (s *Store) Last(ctx context.Context, partition int) (store.Last, error) {
	if err := s.enter(ctx); err != nil {
		return store.Last{}, err
	}
	defer s.gate.leave()
	p, err := s.partition(partition)
	if err != nil {
		return store.Last{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return store.Last{Number: p.number, By: p.by}, nil
}

// Get returns one row's value.
func (s *Store) Get(ctx context.Context, partition int, key []byte) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	return s.get(rowKey(partition, key))
}

// GetMany returns the values of several rows. One iterator visits them in order of keys:
// neighbours cost a step, not a seek.
func (s *Store) GetMany(ctx context.Context, partition int, keys [][]byte) ([][]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: rowKey(partition, nil),
		UpperBound: after(rowKey(partition, nil)),
	})
	if err != nil {
		return nil, readError(err)
	}
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(keys[a], keys[b]) })
	values := make([][]byte, len(keys))
	for _, i := range order {
		if !it.SeekGE(rowKey(partition, keys[i])) {
			break // it is the last row, or the iterator failed, which Close reports
		}
		if !bytes.Equal(it.Key()[prefixLen:], keys[i]) {
			continue
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, errors.Join(readError(err), it.Close())
		}
		values[i] = append([]byte{}, v...)
	}
	return values, readErrorOrNil(it.Close())
}

// Scan walks over the rows with an iterator, which is a snapshot.
func (s *Store) Scan(ctx context.Context, partition int, p []byte, yield func(key, value []byte) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: rowKey(partition, p),
		UpperBound: after(rowKey(partition, p)),
	})
	if err != nil {
		return readError(err)
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		err = give(ctx, it, yield)
	}
	if err != nil {
		return errors.Join(err, it.Close())
	}
	return readErrorOrNil(it.Close())
}

// Page reads with an iterator, which is a snapshot.
func (s *Store) Page(ctx context.Context, partition int, r store.Range, limit int) (rows []store.Row, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	o := &pebble.IterOptions{LowerBound: rowKey(partition, r.Prefix), UpperBound: after(rowKey(partition, r.Prefix))}
	if r.After != nil {
		if k := append(rowKey(partition, r.After), 0); bytes.Compare(k, o.LowerBound) > 0 {
			o.LowerBound = k
		}
	}
	if r.Before != nil {
		if k := rowKey(partition, r.Before); bytes.Compare(k, o.UpperBound) < 0 {
			o.UpperBound = k
		}
	}
	if limit <= 0 || bytes.Compare(o.LowerBound, o.UpperBound) >= 0 {
		return nil, nil
	}
	it, err := s.db.NewIter(o)
	if err != nil {
		return nil, readError(err)
	}
	first, next := it.First, it.Next
	if r.Back {
		first, next = it.Last, it.Prev
	}
	for ok := first(); ok && err == nil && len(rows) < limit; {
		err = give(ctx, it, func(key, value []byte) error {
			rows = append(rows, store.Row{Key: bytes.Clone(key), Value: append([]byte{}, value...)})
			return nil
		})
		ok = len(rows) < limit && next()
	}
	if err != nil {
		return nil, errors.Join(err, it.Close())
	}
	return rows, readErrorOrNil(it.Close())
}

func give(ctx context.Context, it *pebble.Iterator, yield func(key, value []byte) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v, err := it.ValueAndErr()
	if err != nil {
		return readError(err)
	}
	return yield(it.Key()[prefixLen:], v)
}

func readErrorOrNil(err error) error {
	if err == nil {
		return nil
	}
	return readError(err)
}
