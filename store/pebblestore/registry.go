package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/store"
)

// registry is what nodes tell each other about themselves. The directory is
// locked, so all of them live in this process, and what they announce ends with
// it: only lasting records are on the disk.
type registry struct {
	mu      sync.Mutex
	topics  map[string]map[string]announced
	writing int // lasting records that are visible and not durable yet
}

// announced is a record that is gone at a moment of the process' clock.
type announced struct {
	value []byte
	until time.Time
}

// Announce keeps a copy of the record for ttl.
func (s *Store) Announce(ctx context.Context, topic string, rec store.Record, ttl time.Duration) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	r := &s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if ttl <= 0 {
		delete(r.topics[topic], rec.Name)
		return nil
	}
	if r.topics == nil {
		r.topics = map[string]map[string]announced{}
	}
	if r.topics[topic] == nil {
		r.topics[topic] = map[string]announced{}
	}
	r.topics[topic][rec.Name] = announced{bytes.Clone(rec.Value), time.Now().Add(ttl)}
	return nil
}

// Announced lists copies of the records of a topic, and forgets those that are gone.
func (s *Store) Announced(ctx context.Context, topic string) ([]store.Record, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	r := &s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	now, of := time.Now(), r.topics[topic]
	maps.DeleteFunc(of, func(_ string, a announced) bool { return !now.Before(a.until) })
	records := make([]store.Record, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		records = append(records, store.Record{Name: name, Value: bytes.Clone(of[name].value)})
	}
	return records, nil
}

// Swap replaces a lasting record, if it is what the caller saw last.
func (s *Store) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	held, b, err := s.swap(name, old, value)
	switch {
	case err != nil:
		return nil, err
	case b == nil:
		return held, s.flushRecords() // what the other wrote must not be answered with before it is durable
	}
	err = s.settle(b)
	s.registry.wrote()
	if err != nil {
		return nil, err
	}
	return held, nil
}

// swap puts the record into the log. Without a batch, nothing was replaced.
func (s *Store) swap(name string, old, value []byte) (held []byte, b *pebble.Batch, err error) {
	r := &s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	held, err = s.record(name)
	there := !errors.Is(err, store.ErrNotFound)
	if there && err != nil {
		return nil, nil, err
	}
	if there != (old != nil) || !bytes.Equal(held, old) {
		return held, nil, nil
	}
	b = s.db.NewBatch()
	if err := b.Set(recordKey(name), store.SealRecord(name, value), nil); err != nil {
		return nil, nil, err
	}
	if err := s.enqueue(b); err != nil {
		return nil, nil, err
	}
	r.writing++
	return append([]byte{}, value...), b, nil
}

func (r *registry) wrote() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writing--
}

// flushRecords waits until all lasting records that are visible are durable.
func (s *Store) flushRecords() error {
	s.registry.mu.Lock()
	settled := s.registry.writing == 0
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

// Lookup returns a lasting record, once it is durable.
func (s *Store) Lookup(ctx context.Context, name string) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	held, err := s.record(name)
	return held, cmp.Or(err, s.flushRecords())
}
