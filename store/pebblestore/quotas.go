package pebblestore

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/store"
)

// quotas holds the tables of all limits. The directory is locked, so all nodes are in this
// process, and what they hold ends with it.
type quotas struct {
	began  time.Time // earlier processes used nothing after this time
	mu     sync.Mutex
	tables quota.Tables
}

// begin is called when the directory is locked: no other process uses any limit from then on.
func (q *quotas) begin() { q.began, q.tables = time.Now(), quota.Tables{} }

// withTable calls use with the table of a limit, under its lock. Times start with the store, so
// that changes of the clock have no effect. The first window belongs to what an earlier process
// may have used.
func (s *Store) withTable(ctx context.Context, l store.Limit, use func(t *quota.Table, now int64)) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	s.quotas.mu.Lock()
	defer s.quotas.mu.Unlock()
	use(s.quotas.tables.Of(l, int64(l.Window)), int64(time.Since(s.quotas.began)))
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
