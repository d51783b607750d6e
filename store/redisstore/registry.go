package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

// The keys of the registry belong to partition [store.Control].

func (k *keys) topic(name string) string { return k.prefix + "topic:" + name }

// Announce writes a record that expires after ttl by the server's clock.
func (s *Store) Announce(ctx context.Context, topic string, r store.Record, ttl time.Duration) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	key := s.keysOf(store.Control).topic(topic)
	err := s.exec(ctx, s.scripts.announce, []string{key}, r.Name, string(r.Value), lasting(ttl)).Error()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	return s.failed(ctx, "announce "+topic, store.Control, err)
}

// Announced lists the records that have not expired by the server's clock.
func (s *Store) Announced(ctx context.Context, topic string) ([]store.Record, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	key := s.keysOf(store.Control).topic(topic)
	live, err := s.exec(ctx, s.scripts.announced, []string{key}).AsStrSlice()
	if err != nil {
		return nil, s.failed(ctx, "list "+topic, store.Control, err)
	}
	return announcedRecords(live), nil
}

// lasting returns how long an announced record lasts, as the scripts have it.
func lasting(ttl time.Duration) string {
	if ttl <= 0 {
		return "0"
	}
	return millis(ttl)
}

// announcedRecords sorts names and values that a script has listed.
func announcedRecords(live []string) []store.Record {
	records := make([]store.Record, 0, len(live)/2)
	for r := range slices.Chunk(live, 2) {
		records = append(records, store.Record{Name: r[0], Value: []byte(r[1])})
	}
	slices.SortFunc(records, func(a, b store.Record) int { return cmp.Compare(a.Name, b.Name) })
	return records
}

// CheckIn announces, lists the topic and reads lasting records in one script call.
func (s *Store) CheckIn(ctx context.Context, topic string, r store.Record, ttl time.Duration, names ...string) (store.Attendance, error) {
	if err := s.enter(ctx); err != nil {
		return store.Attendance{}, err
	}
	k := s.keysOf(store.Control)
	keys := append(make([]string, 0, 1+len(names)), k.topic(topic))
	for _, name := range names {
		keys = append(keys, k.record(name))
	}
	said, err := s.exec(ctx, s.scripts.checkIn, keys, r.Name, string(r.Value), lasting(ttl)).ToArray()
	if err != nil {
		return store.Attendance{}, s.failed(ctx, "check in at "+topic, store.Control, err)
	}
	first, err := said[0].AsInt64()
	if err != nil {
		return store.Attendance{}, s.failed(ctx, "check in at "+topic, store.Control, err)
	}
	a := store.Attendance{Expires: time.Duration(first) * time.Millisecond}
	if a.Values, err = lastingRecords(names, said[1:]); err != nil {
		return store.Attendance{}, err
	}
	var live []string
	for _, m := range said[1+len(names):] {
		text, err := m.ToString()
		if err != nil {
			return store.Attendance{}, s.failed(ctx, "check in at "+topic, store.Control, err)
		}
		live = append(live, text)
	}
	a.Records = announcedRecords(live)
	return a, nil
}

// lastingRecords returns the values of lasting records; one that does not exist is nil.
func lastingRecords(names []string, held []rueidis.RedisMessage) ([][]byte, error) {
	values := make([][]byte, len(names))
	for i, name := range names {
		if held[i].IsNil() {
			continue
		}
		sealed, err := held[i].AsBytes()
		if err == nil {
			values[i], err = store.UnsealRecord(name, sealed)
		}
		if err != nil {
			return nil, fmt.Errorf("record %q: %w", name, err)
		}
	}
	return values, nil
}
