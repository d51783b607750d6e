package redisstore

import (
	"cmp"
	"context"
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
	lasts := "0"
	if ttl > 0 {
		lasts = millis(ttl)
	}
	key := s.keysOf(store.Control).topic(topic)
	err := s.exec(ctx, s.scripts.announce, []string{key}, r.Name, string(r.Value), lasts).Error()
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
	records := make([]store.Record, 0, len(live)/2)
	for r := range slices.Chunk(live, 2) {
		records = append(records, store.Record{Name: r[0], Value: []byte(r[1])})
	}
	slices.SortFunc(records, func(a, b store.Record) int { return cmp.Compare(a.Name, b.Name) })
	return records, nil
}
