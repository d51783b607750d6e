package memstore

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/store"
)

// registry holds what nodes publish about themselves.
type registry struct {
	mu      sync.Mutex
	topics  map[string]map[string]announced
	lasting map[string][]byte
	names   []string // of the lasting records, in order
}

// announced is a record with its expiry by the store's clock.
type announced struct {
	value []byte
	until int64
}

// registered returns the registry, locked, or the reason why the call must not continue.
func (s *Store) registered(ctx context.Context) (*registry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	s.registry.mu.Lock()
	return &s.registry, nil
}

// Announce keeps a copy of the record for ttl.
func (s *Store) Announce(ctx context.Context, topic string, rec store.Record, ttl time.Duration) error {
	r, err := s.registered(ctx)
	if err != nil {
		return err
	}
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
	r.topics[topic][rec.Name] = announced{clone(rec.Value), s.now() + int64(ttl)}
	return nil
}

// Announced lists copies of the records of a topic, and drops expired ones.
func (s *Store) Announced(ctx context.Context, topic string) ([]store.Record, error) {
	r, err := s.registered(ctx)
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	now, of := s.now(), r.topics[topic]
	maps.DeleteFunc(of, func(_ string, a announced) bool { return now >= a.until })
	records := make([]store.Record, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		records = append(records, store.Record{Name: name, Value: clone(of[name].value)})
	}
	return records, nil
}
