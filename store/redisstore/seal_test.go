package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

// TestDamageIsNoticed changes what lies in the server behind the store's back,
// as a flipped bit in its memory or its log would, or puts it under another key.
func TestDamageIsNoticed(t *testing.T) {
	r := testenv.Redis(t)
	const home, away = "weir:{prod:p0}:", "weir:{prod:p1}:"
	getBlock := func(s *redisstore.Store) error {
		_, err := s.GetBlock(t.Context(), 0, "ba_1", 1)
		return err
	}
	claimed := func(s *redisstore.Store) error {
		_, err := s.Claimed(t.Context(), 0, "mine")
		return err
	}
	getRow := func(s *redisstore.Store) error {
		_, err := s.Get(t.Context(), 0, []byte("mine"))
		return err
	}
	scan := func(s *redisstore.Store) error {
		return s.Scan(t.Context(), 0, nil, func(_, _ []byte) error { return nil })
	}
	read := func(partition int) func(s *redisstore.Store) error {
		return func(s *redisstore.Store) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := s.Read(ctx, partition, 0, 1)
			return err
		}
	}
	for _, tt := range []struct {
		name   string
		damage string // a script
		read   func(s *redisstore.Store) error
	}{
		{"a flipped byte in a block", `redis.call('SETRANGE', KEYS[1] .. 'b:ba_1:1', 2, 'X')`, getBlock},
		{"a block that was cut", `redis.call('SET', KEYS[1] .. 'b:ba_1:1', 'abc')`, getBlock},
		{"a block in the place of another of the same bulk action", `redis.call('COPY', KEYS[1] .. 'b:ba_1:0', KEYS[1] .. 'b:ba_1:1', 'REPLACE')`, getBlock},
		{"a block in the place of another bulk action's", `redis.call('COPY', KEYS[1] .. 'b:ba_2:1', KEYS[1] .. 'b:ba_1:1', 'REPLACE')`, getBlock},
		{"a block of another partition", `redis.call('COPY', KEYS[2] .. 'b:ba_1:1', KEYS[1] .. 'b:ba_1:1', 'REPLACE')`, getBlock},
		{"a flipped byte in a claim", `redis.call('HSET', KEYS[1] .. 'claims', 'mine', 'X' .. string.sub(redis.call('HGET', KEYS[1] .. 'claims', 'mine'), 2))`, claimed},
		{"the claim of another key", `redis.call('HSET', KEYS[1] .. 'claims', 'mine', redis.call('HGET', KEYS[1] .. 'claims', 'other'))`, claimed},
		{"a claim that is damaged when it is met", `redis.call('HSET', KEYS[1] .. 'claims', 'mine', 'X')`, func(s *redisstore.Store) error {
			return s.Append(t.Context(), 0, []byte("m"), store.Claim{Key: "mine"})
		}},
		{"a flipped byte in a row", `redis.call('HSET', KEYS[1] .. 'rows', 'mine', 'X' .. string.sub(redis.call('HGET', KEYS[1] .. 'rows', 'mine'), 2))`, getRow},
		{"a row in the place of another", `redis.call('HSET', KEYS[1] .. 'rows', 'mine', redis.call('HGET', KEYS[1] .. 'rows', 'other'))`, getRow},
		{"a row in the place of another, in a scan", `redis.call('HSET', KEYS[1] .. 'rows', 'mine', redis.call('HGET', KEYS[1] .. 'rows', 'other'))`, scan},
		{"a row that was emptied", `redis.call('HSET', KEYS[1] .. 'rows', 'other', '')`, scan},
		{"a row that is gone while its key is there", `redis.call('HDEL', KEYS[1] .. 'rows', 'other')`, scan},
		{"a flipped byte in a message", `
			local e = redis.call('XRANGE', KEYS[1] .. 'inbox', '-', '+')[1]
			redis.call('DEL', KEYS[1] .. 'inbox')
			redis.call('XADD', KEYS[1] .. 'inbox', e[1], 'b', 'X' .. string.sub(e[2][2], 2))`, read(0)},
		{"the inbox of another partition", `redis.call('COPY', KEYS[2] .. 'inbox', KEYS[1] .. 'inbox', 'REPLACE')`, read(0)},
		{"a message without a body", `
			redis.call('DEL', KEYS[1] .. 'inbox')
			redis.call('XADD', KEYS[1] .. 'inbox', '*', 'x', 'y')`, read(0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.Do("FLUSHALL")
			s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
			defer s.Close()
			fill(t, s)
			if err := tt.read(s); err != nil && !errors.Is(err, store.ErrClaimed) {
				t.Fatalf("before the damage: %v", err)
			}
			r.Do("EVAL", tt.damage+" return 1", "2", home, away)
			if err := tt.read(s); !errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrUnavailable) {
				t.Errorf("read = %v, want ErrCorrupt", err)
			}
		})
	}
}

// fill writes rows, blocks, claims and messages that differ in nothing but their places.
func fill(t *testing.T, s *redisstore.Store) {
	t.Helper()
	same := []byte(strings.Repeat("same", 5))
	for p := range 2 {
		tok, err := s.Acquire(t.Context(), p, "a", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"mine", "other"} {
			if err := s.Append(t.Context(), p, same, store.Claim{Key: key, Value: same}); err != nil {
				t.Fatal(err)
			}
		}
		for _, err := range []error{
			s.PutBlocks(t.Context(), p, "ba_1", 0, [][]byte{same, same}),
			s.PutBlocks(t.Context(), p, "ba_2", 0, [][]byte{same, same}),
			s.Commit(t.Context(), p, tok, &store.Batch{Number: 1, Set: rows("mine", string(same), "other", string(same))}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
