package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/internal/inprocess"
)

// Swap creates, replaces or removes a lasting record, if it is what the caller saw last.
// Creating one is refused when the disk is nearly full.
func (s *Store) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	if len(old) == 0 && len(value) > 0 {
		if err := s.space.allow(s, len(value)); err != nil {
			return nil, err
		}
	}
	held, b, err := s.swap(name, old, value)
	switch {
	case err != nil:
		return nil, err
	case b == nil:
		return held, s.flushRecord(name) // do not return another caller's write before it is durable
	}
	err = s.settle(b)
	s.registry.wrote(name)
	if err != nil {
		return nil, err
	}
	return held, nil
}

// swap puts the record, or its removal, into the log. It returns no batch if nothing was
// replaced.
func (s *Store) swap(name string, old, value []byte) (held []byte, b *pebble.Batch, err error) {
	r := &s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	held, err = s.record(name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, nil, err
	}
	if !bytes.Equal(held, old) || len(held)+len(value) == 0 {
		return held, nil, nil
	}
	b = s.db.NewBatch()
	if len(value) == 0 {
		held, err = nil, b.Delete(recordKey(name), nil)
	} else {
		held, err = bytes.Clone(value), b.Set(recordKey(name), store.SealRecord(name, value), nil)
	}
	if err == nil {
		err = s.enqueue(b)
	}
	if err != nil {
		return nil, nil, err
	}
	if r.writing == nil {
		r.writing = map[string]int{}
	}
	r.writing[name]++
	return held, b, nil
}

func (r *registry) wrote(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writing[name]--; r.writing[name] == 0 {
		delete(r.writing, name)
	}
}

// flushRecord waits until what is visible of one lasting record is durable. Others that are being written are no
// reason to wait.
func (s *Store) flushRecord(name string) error {
	s.registry.mu.Lock()
	writing := s.registry.writing[name] > 0
	s.registry.mu.Unlock()
	if !writing {
		return nil
	}
	return s.flush()
}

// flushRecords waits until all visible lasting records, and all visible removals, are durable.
func (s *Store) flushRecords() error {
	s.registry.mu.Lock()
	settled := len(s.registry.writing) == 0
	s.registry.mu.Unlock()
	if settled {
		return nil
	}
	return s.flush()
}

// record reads a lasting record.
func (s *Store) record(name string) ([]byte, error) {
	b, err := s.get(recordKey(name))
	if err != nil {
		return nil, err
	}
	return store.UnsealRecord(name, b)
}

// Lookup returns a lasting record, or ErrNotFound, once that is durable.
func (s *Store) Lookup(ctx context.Context, name string) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	held, err := s.record(name)
	return held, cmp.Or(err, s.flushRecord(name))
}

// List returns lasting records as of one moment, once they are durable.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]store.Record, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	records, err := s.records(prefix, after, limit)
	if err := cmp.Or(err, s.flushRecords()); err != nil {
		return nil, err
	}
	return records, nil
}

// records reads lasting records in order of names.
func (s *Store) records(prefix, last string, limit int) (records []store.Record, err error) {
	from := recordKey(max(prefix, last))
	if last >= prefix {
		from = append(from, 0) // the next possible key
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: after(recordKey(prefix))})
	if err != nil {
		return nil, readError(err)
	}
	for ok := it.First(); ok && err == nil && len(records) < limit; ok = it.Next() {
		var r store.Record
		if r, err = unsealed(it); err == nil {
			records = append(records, r)
		}
	}
	if err != nil {
		return nil, errors.Join(err, it.Close())
	}
	return records, readErrorOrNil(it.Close())
}

// unsealed reads the lasting record at the iterator's position.
func unsealed(it *pebble.Iterator) (store.Record, error) {
	sealed, err := it.ValueAndErr()
	if err != nil {
		return store.Record{}, readError(err)
	}
	name := string(it.Key()[prefixLen:])
	value, err := store.UnsealRecord(name, bytes.Clone(sealed))
	return store.Record{Name: name, Value: value}, err
}

// CheckIn announces a record, lists its topic and reads lasting records.
func (s *Store) CheckIn(ctx context.Context, topic string, r store.Record, ttl time.Duration, names ...string) (store.Attendance, error) {
	return inprocess.CheckIn(ctx, s.nodes, topic, r, ttl, names, s.Lookup)
}
