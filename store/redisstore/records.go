package redisstore

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

func (k *keys) record(name string) string { return k.prefix + "record:" + name }

// records returns the key of the index of names. A record that was written before the index
// existed is added when it is next replaced.
func (k *keys) records() string { return k.prefix + "records" }

// Swap creates, replaces or removes a lasting record, if it is what the caller saw last.
func (s *Store) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	k := s.keysOf(store.Control)
	reply, lag := s.writeScript(ctx, k, s.scripts.swap, []string{k.record(name), k.records()}, sealedRecord(name, old),
		sealedRecord(name, value), name)
	held, err := reply.AsBytes()
	none := rueidis.IsRedisNil(err)
	switch {
	case err != nil && !none:
		return nil, s.unsure(ctx, "swap record "+name, store.Control, err)
	case lag != nil: // also if another caller's record is there: it must be on the replicas, too
		return nil, s.lagging(ctx, "swap record "+name, store.Control, lag)
	case none:
		return nil, nil
	}
	return store.UnsealRecord(name, held)
}

// sealedRecord returns a record as the server stores it, empty for no record.
func sealedRecord(name string, value []byte) string {
	if len(value) == 0 {
		return ""
	}
	return rueidis.BinaryString(store.SealRecord(name, value))
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

// listAtOnce bounds the records of one answer: 128 MiB of the biggest.
const listAtOnce = 128

// List returns lasting records, some at a time: first their names from the index, then their
// values. A record that was removed in between is left out.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]store.Record, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	from, to := lexRange([]byte(prefix))
	if after >= prefix {
		from = "(" + after
	}
	var records []store.Record
	for len(records) < limit {
		most := min(limit-len(records), listAtOnce)
		names, err := s.names(ctx, from, to, most)
		if err != nil {
			return nil, s.failed(ctx, "list records "+prefix, store.Control, err)
		}
		found, err := s.recordsOf(ctx, names)
		if err != nil {
			return nil, err
		}
		records = append(records, found...)
		if len(names) < most {
			break
		}
		from = "(" + names[len(names)-1]
	}
	return records, nil
}

// names reads a page of the index.
func (s *Store) names(ctx context.Context, from, to string, limit int) ([]string, error) {
	key := s.keysOf(store.Control).records()
	return s.client.Do(ctx, s.client.B().Zrangebylex().Key(key).Min(from).Max(to).Limit(0, int64(limit)).Build()).AsStrSlice()
}

// recordsOf reads the lasting records of these names, without missing ones.
func (s *Store) recordsOf(ctx context.Context, names []string) ([]store.Record, error) {
	if len(names) == 0 {
		return nil, nil
	}
	k, at := s.keysOf(store.Control), make([]string, len(names))
	for i, name := range names {
		at[i] = k.record(name)
	}
	held, err := s.client.Do(ctx, s.client.B().Mget().Key(at...).Build()).ToArray()
	if err != nil {
		return nil, s.failed(ctx, "read records", store.Control, err)
	}
	records := make([]store.Record, 0, len(names))
	for i, name := range names {
		sealed, err := held[i].AsBytes()
		if rueidis.IsRedisNil(err) {
			continue
		}
		if err != nil {
			return nil, s.failed(ctx, "read record "+name, store.Control, err)
		}
		value, err := store.UnsealRecord(name, sealed)
		if err != nil {
			return nil, err
		}
		records = append(records, store.Record{Name: name, Value: value})
	}
	return records, nil
}
