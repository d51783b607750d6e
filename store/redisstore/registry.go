package redisstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

// The registry lives with partition [store.Control].

func (k *keys) topic(name string) string { return k.prefix + "topic:" + name }

func (k *keys) record(name string) string { return k.prefix + "record:" + name }

// Announce writes a record that is gone after ttl by the server's clock.
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

// Announced lists the records that are not gone by the server's clock.
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

// Swap replaces a lasting record, if it is what the caller saw last.
func (s *Store) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	saw := ""
	if old != nil {
		saw = rueidis.BinaryString(store.SealRecord(name, old))
	}
	k := s.keysOf(store.Control)
	reply, lag := s.writeScript(ctx, k, s.scripts.swap, []string{k.record(name)}, saw, rueidis.BinaryString(store.SealRecord(name, value)))
	held, err := reply.AsBytes()
	none := rueidis.IsRedisNil(err)
	switch {
	case err != nil && !none:
		return nil, s.unsure(ctx, "swap record "+name, store.Control, err)
	case lag != nil: // also if another's record is there: it must be on the replicas, too
		return nil, s.lagging(ctx, "swap record "+name, store.Control, lag)
	case none:
		return nil, nil
	}
	return store.UnsealRecord(name, held)
}

// Lookup returns a lasting record.
func (s *Store) Lookup(ctx context.Context, name string) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	get := s.client.B().Get().Key(s.keysOf(store.Control).record(name)).Build()
	held, err := s.bytes(ctx, "look up record "+name, store.Control, s.client.Do(ctx, get))
	if err != nil {
		return nil, err
	}
	return store.UnsealRecord(name, held)
}
