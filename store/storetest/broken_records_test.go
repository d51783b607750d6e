package storetest_test

import (
	"context"
	"errors"
	"runtime"

	"github.com/weirhq/weir/store"
)

// blindSwap plants a swap that replaces whatever is there.
func blindSwap(f *faulty) {
	f.swap = func(ctx context.Context, name string, _, value []byte) ([]byte, error) {
		held, err := f.Lookup(ctx, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		return f.Store.Swap(ctx, name, held, value)
	}
}

// blindRemoval plants a swap that removes whatever is there.
func blindRemoval(f *faulty) {
	blind := *f
	blindSwap(&blind)
	f.swap = func(ctx context.Context, name string, old, value []byte) ([]byte, error) {
		if len(value) == 0 {
			return blind.swap(ctx, name, old, value)
		}
		return f.Store.Swap(ctx, name, old, value)
	}
}

// noRemoval plants a swap that removes nothing and says that it did.
func noRemoval(f *faulty) {
	f.swap = func(ctx context.Context, name string, old, value []byte) ([]byte, error) {
		if len(value) == 0 {
			return nil, nil
		}
		return f.Store.Swap(ctx, name, old, value)
	}
}

// cutList plants a list that gives fewer than there are.
func cutList(f *faulty) {
	f.list = func(ctx context.Context, prefix, after string, limit int) ([]store.Record, error) {
		return f.Store.List(ctx, prefix, after, min(limit, 500))
	}
}

// listFault plants a list that chooses wrongly from all there is.
func listFault(choose func(all []store.Record, prefix, after string, limit int) []store.Record) func(*faulty) {
	return func(f *faulty) {
		f.list = func(ctx context.Context, prefix, after string, limit int) ([]store.Record, error) {
			all, err := f.Store.List(ctx, "", "", 1<<20)
			if err != nil || limit < 1 {
				return nil, errors.Join(err, store.CheckLimit(limit))
			}
			return choose(all, prefix, after, limit), nil
		}
	}
}

// stopAtGone plants a list in two steps, between which others have their turn.
func stopAtGone(f *faulty) {
	f.swap = func(ctx context.Context, name string, old, value []byte) ([]byte, error) {
		defer runtime.Gosched()
		return f.Store.Swap(ctx, name, old, value)
	}
	f.list = func(ctx context.Context, prefix, after string, limit int) ([]store.Record, error) {
		all, err := f.Store.List(ctx, prefix, after, limit)
		runtime.Gosched()
		for i, r := range all {
			if _, gone := f.Lookup(ctx, r.Name); gone != nil {
				return all[:i], err
			}
		}
		return all, err
	}
}
