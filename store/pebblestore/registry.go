package pebblestore

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/store"
)

// registry holds what nodes publish about themselves. The directory is locked, so all nodes are
// in this process, and announcements end with it: only lasting records are on the disk.
type registry struct {
	mu      sync.Mutex
	topics  map[string]map[string]announced
	writing int // lasting records that are visible but not durable yet
}

// announced is a record with its expiry by the process' clock.
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

// Announced lists copies of the records of a topic, and drops expired ones.
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
