package storetest_test

import (
	"context"
	"time"

	"github.com/weirhq/weir/store"
)

// quotas is the part of [faulty] that is about limits.
type quotas struct {
	hold func(ctx context.Context, l store.Limit, h store.Holding, ttl time.Duration) (int64, error)
	draw func(ctx context.Context, l store.Limit, units int64) (time.Duration, bool, error)
	aim  func(ctx context.Context, l store.Limit, epoch uint64, targets map[string]int64) error
}

func (f *faulty) Hold(ctx context.Context, l store.Limit, h store.Holding, ttl time.Duration) (int64, error) {
	return f.hold(ctx, l, h, ttl)
}

func (f *faulty) Draw(ctx context.Context, l store.Limit, units int64) (time.Duration, bool, error) {
	return f.draw(ctx, l, units)
}

func (f *faulty) SetTargets(ctx context.Context, l store.Limit, epoch uint64, targets map[string]int64) error {
	return f.aim(ctx, l, epoch, targets)
}

// held plants a fault that changes what a node says.
func held(change func(l *store.Limit, h *store.Holding, ttl *time.Duration)) func(*faulty) {
	return func(f *faulty) {
		f.hold = func(ctx context.Context, l store.Limit, h store.Holding, ttl time.Duration) (int64, error) {
			change(&l, &h, &ttl)
			return f.Store.Hold(ctx, l, h, ttl)
		}
	}
}

// drawn plants a fault that changes of what permits are drawn.
func drawn(change func(l *store.Limit)) func(*faulty) {
	return func(f *faulty) {
		f.draw = func(ctx context.Context, l store.Limit, units int64) (time.Duration, bool, error) {
			change(&l)
			return f.Store.Draw(ctx, l, units)
		}
	}
}
