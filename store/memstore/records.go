package memstore

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/internal/inprocess"
)

// Swap creates, replaces or removes a lasting record, if it is what the caller saw last.
func (s *Store) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	r, err := s.registered(ctx)
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	if bytes.Equal(r.lasting[name], old) { // a missing one is empty
		r.put(name, value)
	}
	if held, there := r.lasting[name]; there {
		return clone(held), nil
	}
	return nil, nil
}

// put keeps a copy of a record, or removes it if it is empty.
func (r *registry) put(name string, value []byte) {
	at, there := slices.BinarySearch(r.names, name)
	switch {
	case len(value) == 0 && there:
		r.names = slices.Delete(r.names, at, at+1)
		delete(r.lasting, name)
		return
	case len(value) == 0:
		return
	case !there:
		r.names = slices.Insert(r.names, at, name)
	}
	if r.lasting == nil {
		r.lasting = map[string][]byte{}
	}
	r.lasting[name] = clone(value)
}

// keep replaces all lasting records.
func (r *registry) keep(lasting map[string][]byte) {
	r.lasting, r.names = maps.Clone(lasting), slices.Sorted(maps.Keys(lasting))
}

// Lookup returns a copy of a lasting record.
func (s *Store) Lookup(ctx context.Context, name string) ([]byte, error) {
	r, err := s.registered(ctx)
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	held, there := r.lasting[name]
	if !there {
		return nil, store.ErrNotFound
	}
	return clone(held), nil
}

// List returns copies of lasting records, as of one moment.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]store.Record, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	r, err := s.registered(ctx)
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	at, found := slices.BinarySearch(r.names, max(prefix, after))
	if found && r.names[at] == after {
		at++
	}
	var records []store.Record
	for _, name := range r.names[at:] {
		if len(records) == limit || !strings.HasPrefix(name, prefix) {
			break
		}
		records = append(records, store.Record{Name: name, Value: clone(r.lasting[name])})
	}
	return records, nil
}

// CheckIn announces a record, lists its topic and reads lasting records.
func (s *Store) CheckIn(ctx context.Context, topic string, r store.Record, ttl time.Duration, names ...string) (store.Attendance, error) {
	return inprocess.CheckIn(ctx, s.nodes, topic, r, ttl, names, s.Lookup)
}
