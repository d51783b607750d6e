package redisstore

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

// renewals collects renewals of leases that are asked for at about the same time, and sends
// them in one command. On a Cluster the partitions are in different slots: there each is sent
// alone.
type renewals struct {
	mu      sync.Mutex
	waiting []renewal
	closed  bool
}

// renewal is one that waits to be sent.
type renewal struct {
	partition  int
	token, ttl string
	answer     chan renewed // holds one
}

// renewed is the answer to a renewal.
type renewed struct {
	fenced     bool   // the token is not the newest
	number, by string // of the last commit
	err        error
}

// collectFor is how long a renewal waits for others.
const collectFor = 3 * time.Millisecond

// renew extends a lease if its token is the newest.
func (r *renewals) renew(ctx context.Context, s *Store, one renewal) (renewed, error) {
	one.answer = make(chan renewed, 1)
	if s.client.Mode() == rueidis.ClientModeCluster {
		s.renewAll(ctx, []renewal{one})
	} else {
		r.add(s, one)
	}
	select {
	case a := <-one.answer:
		return a, a.err
	case <-ctx.Done():
		return renewed{}, ctx.Err()
	case <-s.life.Done():
		return renewed{}, store.ErrClosed
	}
}

// add has a renewal sent in a moment.
func (r *renewals) add(s *Store, one renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, one)
	if len(r.waiting) == 1 && !r.closed {
		s.done.Go(func() {
			select {
			case <-time.After(collectFor):
			case <-s.life.Done():
			}
			r.send(s)
		})
	}
}

// send sends what has been collected, by how long the leases are to last.
func (r *renewals) send(s *Store) {
	r.mu.Lock()
	waiting := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	by := map[string][]renewal{}
	for _, one := range waiting {
		by[one.ttl] = append(by[one.ttl], one)
	}
	ctx, cancel := context.WithTimeout(s.life, answerIn)
	defer cancel()
	for _, some := range by { // in any order
		s.renewAll(ctx, some)
	}
}

// close has nothing sent from now on.
func (r *renewals) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// renewAll sends renewals of leases that last equally long, and answers them.
func (s *Store) renewAll(ctx context.Context, list []renewal) {
	keys, args := make([]string, 0, 2*len(list)), []string{list[0].ttl}
	for _, one := range list {
		keys, args = append(keys, s.keysOf(one.partition).forLease...), append(args, one.token)
	}
	said, err := s.exec(ctx, s.scripts.renew, keys, args...).AsStrSlice()
	for i, one := range list {
		a := renewed{err: err}
		if err == nil {
			a = renewed{said[3*i] != "1", said[3*i+1], said[3*i+2], nil}
		}
		one.answer <- a
	}
}
