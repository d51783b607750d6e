package redisstore

import (
	"context"
	"crypto/rand"

	"github.com/weirhq/weir/store"
)

var (
	_ store.Witness = (*Store)(nil)
	_ store.Witness = (*Spread)(nil)
)

// Incarnation changes when another server, or the same one after a restart, has the partition,
// and when it was flushed.
func (s *Store) Incarnation(ctx context.Context, partition int) (string, error) {
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	key := s.keysOf(partition).prefix + "life"
	name, err := s.exec(ctx, s.scripts.incarnation, []string{key}, rand.Text()).ToString()
	if err != nil {
		return "", s.failed(ctx, "ask for the incarnation", partition, err)
	}
	return name, nil
}

// Incarnation implements [store.Witness].
func (s *Spread) Incarnation(ctx context.Context, partition int) (string, error) {
	return s.of(partition).Incarnation(ctx, partition)
}

// Done implements [store.Witness].
func (s *Store) Done() <-chan struct{} { return s.life.Done() }

// Done implements [store.Witness]: all of them are closed together.
func (s *Spread) Done() <-chan struct{} { return s.stores[0].Done() }
