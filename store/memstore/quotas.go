package memstore

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/store"
)

// quotas holds the tables of all limits.
type quotas struct {
	mu     sync.Mutex
	tables quota.Tables
}

// withTable calls use with the table of a limit, under its lock.
func (s *Store) withTable(ctx context.Context, l store.Limit, use func(t *quota.Table, now int64)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return store.ErrClosed
	}
	s.quotas.mu.Lock()
	defer s.quotas.mu.Unlock()
	if s.quotas.tables == nil {
		s.quotas.tables = quota.Tables{}
	}
	use(s.quotas.tables.Of(l, 0), s.now())
	return nil
}

// Hold records a node's report and returns its quota.
func (s *Store) Hold(ctx context.Context, l store.Limit, h store.Holding, ttl time.Duration) (got int64, err error) {
	err = s.withTable(ctx, l, func(t *quota.Table, now int64) { got = t.Hold(now, h, ttl) })
	return got, err
}

// Draw takes units that no node holds.
func (s *Store) Draw(ctx context.Context, l store.Limit, units int64) (after time.Duration, ok bool, err error) {
	err = s.withTable(ctx, l, func(t *quota.Table, now int64) { after, ok = t.Draw(now, units) })
	return after, ok, err
}

// Holdings returns the last reports of the nodes.
func (s *Store) Holdings(ctx context.Context, l store.Limit) (list []store.Holding, err error) {
	err = s.withTable(ctx, l, func(t *quota.Table, now int64) { list = t.Holdings(now) })
	return list, err
}

// SetTargets sets the quotas that nodes should get.
func (s *Store) SetTargets(ctx context.Context, l store.Limit, epoch uint64, targets map[string]int64) error {
	var stale error
	err := s.withTable(ctx, l, func(t *quota.Table, _ int64) { stale = t.SetTargets(epoch, targets) })
	if err != nil {
		return err
	}
	return stale
}
