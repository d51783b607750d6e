package pebblestore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/store"
)

// The directory is locked, so all owners are in this process and a lease ends with it: the disk
// holds the token, but not when the lease runs out.

// valid reports whether tok is the newest granted and has not been given back.
func (p *partition) valid(tok store.Token) bool { return tok.Nonce != 0 && tok == p.token }

// Acquire grants the lease, unless another owner's lasts.
func (s *Store) Acquire(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
	if err := s.enter(ctx); err != nil {
		return store.Token{}, err
	}
	defer s.gate.leave()
	p, err := s.partition(partition)
	if err != nil {
		return store.Token{}, err
	}
	tok, b, err := s.grant(p, owner, ttl)
	if err != nil {
		return store.Token{}, err
	}
	return tok, s.settle(b)
}

func (s *Store) grant(p *partition, owner string, ttl time.Duration) (store.Token, *pebble.Batch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.owner != owner && now.Before(p.until) {
		return store.Token{}, nil, store.ErrHeld
	}
	tok := store.Token{
		// A restored store may have forgotten epochs, but not the time.
		Epoch: max(p.token.Epoch+1, uint64(max(now.UnixMilli(), 0))),
		Nonce: newNonce(),
	}
	b, err := s.writeToken(p, tok)
	if err != nil {
		return store.Token{}, nil, err
	}
	p.token, p.owner, p.until = tok, owner, now.Add(ttl)
	return tok, b, nil
}

func (s *Store) writeToken(p *partition, tok store.Token) (*pebble.Batch, error) {
	b := s.db.NewBatch()
	if err := b.Set(prefix(kindLease, p.no), encodePair(tok.Epoch, tok.Nonce), nil); err != nil {
		return nil, err
	}
	return b, s.enqueue(b)
}

func newNonce() uint64 {
	var n [8]byte
	_, _ = rand.Read(n[:]) // never fails
	return binary.BigEndian.Uint64(n[:]) | 1
}

// Renew extends the lease and returns the last commit. It writes nothing: see above.
func (s *Store) Renew(ctx context.Context, partition int, tok store.Token, ttl time.Duration) (store.Last, error) {
	if err := s.enter(ctx); err != nil {
		return store.Last{}, err
	}
	defer s.gate.leave()
	p, err := s.partition(partition)
	if err != nil {
		return store.Last{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.valid(tok) {
		return store.Last{}, store.ErrFenced
	}
	p.until = time.Now().Add(ttl)
	return store.Last{Number: p.number, By: p.by}, nil
}

// Release frees the lease. The token is invalid afterwards.
func (s *Store) Release(ctx context.Context, partition int, tok store.Token) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	p, err := s.partition(partition)
	if err != nil {
		return err
	}
	b, err := s.revoke(p, tok)
	if b == nil || err != nil {
		return err
	}
	return s.settle(b)
}

// revoke returns no batch to wait for if tok is stale.
func (s *Store) revoke(p *partition, tok store.Token) (*pebble.Batch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.valid(tok) {
		return nil, nil
	}
	b, err := s.writeToken(p, store.Token{Epoch: tok.Epoch})
	if err != nil {
		return nil, err
	}
	p.token.Nonce, p.owner, p.until = 0, "", time.Time{}
	return b, nil
}
