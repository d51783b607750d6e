package memstore

import (
	"context"
	"time"

	"github.com/weirhq/weir/store"
)

// lease records the owner of a partition, and until when.
type lease struct {
	token store.Token // Nonce 0: none is valid
	owner string
	until int64  // nanoseconds; 0: free
	life  uint64 // of the store when it was granted or renewed last
	grace int64  // until when the owner has precedence although the lease has run out
}

// valid reports whether tok is the newest granted and has not been given back.
func (l *lease) valid(tok store.Token) bool {
	return tok.Nonce != 0 && tok == l.token
}

// Acquire grants the lease, unless another owner's lasts, or that owner has precedence.
func (s *Store) Acquire(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
	return s.acquire(ctx, partition, owner, ttl, false)
}

// Reclaim grants the lease, unless another owner's lasts.
func (s *Store) Reclaim(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
	return s.acquire(ctx, partition, owner, ttl, true)
}

func (s *Store) acquire(ctx context.Context, partition int, owner string, ttl time.Duration, reclaim bool) (store.Token, error) {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return store.Token{}, err
	}
	defer p.mu.Unlock()
	now, l := s.now(), &p.lease
	if l.owner != owner && (now < l.until || !reclaim && l.awaited(now, ttl, s.Lives())) {
		return store.Token{}, store.ErrHeld
	}
	epoch := max(l.token.Epoch+1, uint64(max(now, 0)/int64(time.Millisecond)))
	*l = lease{
		token: store.Token{Epoch: epoch, Nonce: nonce(partition, epoch, s.Lives())},
		owner: owner,
		until: now + int64(ttl),
		life:  s.Lives(),
	}
	return l.token, nil
}

// awaited reports whether the owner of a lease that has run out has precedence; see [store.ReturnFor].
func (l *lease) awaited(now int64, ttl time.Duration, life uint64) bool {
	if l.owner != "" && l.life != life {
		l.life, l.grace = life, now+int64(max(ttl, store.ReturnFor))
	}
	return now < l.grace
}

// nonce is repeatable, unlike that of other stores: a seed must replay. lives, which counts how
// often the store was set back, keeps the same epoch from being granted twice with the same
// nonce.
func nonce(partition int, epoch, lives uint64) uint64 {
	x := epoch*0x9e3779b97f4a7c15 + lives<<32 + uint64(partition)
	x ^= x >> 29
	return x | 1
}

// Renew extends the lease and returns the last commit.
func (s *Store) Renew(ctx context.Context, partition int, tok store.Token, ttl time.Duration) (store.Last, error) {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return store.Last{}, err
	}
	defer p.mu.Unlock()
	if !p.lease.valid(tok) {
		return store.Last{}, store.ErrFenced
	}
	p.lease.until, p.lease.life = s.now()+int64(ttl), s.Lives()
	return p.commit, nil
}

// Release frees the lease. The token is invalid afterwards.
func (s *Store) Release(ctx context.Context, partition int, tok store.Token) error {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return err
	}
	defer p.mu.Unlock()
	if p.lease.valid(tok) {
		p.lease = lease{token: store.Token{Epoch: tok.Epoch}}
	}
	return nil
}
