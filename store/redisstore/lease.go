package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

// Acquire grants the lease, unless another owner's lasts, or that owner has precedence. The server's clock decides.
func (s *Store) Acquire(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
	return s.acquire(ctx, partition, owner, ttl, millis(max(ttl, store.ReturnFor)))
}

// Reclaim grants the lease, unless another owner's lasts.
func (s *Store) Reclaim(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
	return s.acquire(ctx, partition, owner, ttl, "0")
}

func (s *Store) acquire(ctx context.Context, partition int, owner string, ttl time.Duration, grace string) (store.Token, error) {
	if err := s.enter(ctx); err != nil {
		return store.Token{}, err
	}
	nonce := newNonce()
	epoch, err := s.exec(ctx, s.scripts.acquire, s.keysOf(partition).forLease, owner, millis(ttl), decimal(nonce), grace).AsUint64()
	switch {
	case rueidis.IsRedisNil(err):
		return store.Token{}, store.ErrHeld
	case err != nil:
		return store.Token{}, s.failed(ctx, "acquire", partition, err)
	}
	return store.Token{Epoch: epoch, Nonce: nonce}, nil
}

// Renew extends the lease and returns the last commit.
func (s *Store) Renew(ctx context.Context, partition int, tok store.Token, ttl time.Duration) (store.Last, error) {
	if err := s.enter(ctx); err != nil {
		return store.Last{}, err
	}
	if tok.Nonce == 0 {
		return store.Last{}, store.ErrFenced // what a released lease leaves
	}
	done, err := s.renewals.renew(ctx, s, renewal{partition, tokenText(tok), millis(ttl), nil})
	switch {
	case err != nil:
		return store.Last{}, s.failed(ctx, "renew", partition, err)
	case done.fenced:
		return store.Last{}, store.ErrFenced
	}
	last, err := parseLast(done.number, done.by)
	if err != nil {
		return store.Last{}, fmt.Errorf("last commit of partition %d: %w", partition, err)
	}
	return last, nil
}

// Release frees the lease. The token is invalid afterwards.
func (s *Store) Release(ctx context.Context, partition int, tok store.Token) error {
	if err := s.enter(ctx); err != nil || tok.Nonce == 0 {
		return err
	}
	left := tokenText(store.Token{Epoch: tok.Epoch})
	err := s.exec(ctx, s.scripts.release, s.keysOf(partition).forLease, tokenText(tok), left).Error()
	return s.failed(ctx, "release", partition, err)
}

func newNonce() uint64 {
	var n [8]byte
	_, _ = rand.Read(n[:]) // never fails
	return binary.BigEndian.Uint64(n[:]) | 1
}

// millis rounds up: a lease of no time would be an error of the server.
func millis(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Millisecond-1)/time.Millisecond)), 10)
}
