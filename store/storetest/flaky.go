package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// Op names a method of [store.Store].
type Op string

// The calls that [Flaky] can make fail.
const (
	OpPutBlocks    Op = "PutBlocks"
	OpGetBlock     Op = "GetBlock"
	OpDeleteBlocks Op = "DeleteBlocks"
	OpBlockOwners  Op = "BlockOwners"
	OpAppend       Op = "Append"
	OpClaimed      Op = "Claimed"
	OpCloseClaims  Op = "CloseClaims"
	OpRead         Op = "Read"
	OpCommit       Op = "Commit"
	OpLast         Op = "Last"
	OpGet          Op = "Get"
	OpGetMany      Op = "GetMany"
	OpScan         Op = "Scan"
	OpPage         Op = "Page"
	OpAcquire      Op = "Acquire"
	OpRenew        Op = "Renew"
	OpRelease      Op = "Release"
	OpAnnounce     Op = "Announce"
	OpAnnounced    Op = "Announced"
	OpSwap         Op = "Swap"
	OpLookup       Op = "Lookup"
	OpList         Op = "List"
	OpHold         Op = "Hold"
	OpDraw         Op = "Draw"
	OpHoldings     Op = "Holdings"
	OpSetTargets   Op = "SetTargets"
)

// Call is one call of a store.
type Call struct {
	Op        Op
	Partition int
}

// Fault is an injected failure of a call. The zero value is none.
type Fault struct {
	// Delay comes first. It ends early with the call's context.
	Delay time.Duration
	// Before is returned instead of making the call.
	Before error
	// Lost makes the call and then drops its answer: [store.ErrUnknown] is returned, and
	// nothing else, whether the call succeeded or not.
	Lost bool
}

// Flaky is a store that fails on purpose: Fail is called before each call, from many goroutines
// if the store is.
type Flaky struct {
	store.Store
	Fail func(Call) Fault
}

// around makes the call, or makes it fail.
func (f *Flaky) around(ctx context.Context, op Op, partition int, call func() error) error {
	fault := f.Fail(Call{op, partition})
	if fault.Delay > 0 {
		timer := time.NewTimer(fault.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if fault.Before != nil {
		return fmt.Errorf("%s of partition %d: %w", op, partition, fault.Before)
	}
	err := call()
	if fault.Lost {
		return fmt.Errorf("%s of partition %d: %w", op, partition, store.ErrUnknown)
	}
	return err
}

// asked does the same as around for calls that return a value. A value whose answer is lost is
// zero.
func asked[T any](ctx context.Context, f *Flaky, op Op, partition int, call func() (T, error)) (v T, err error) {
	err = f.around(ctx, op, partition, func() (err error) {
		v, err = call()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return v, nil
}

// PutBlocks may fail.
func (f *Flaky) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	return f.around(ctx, OpPutBlocks, partition, func() error {
		return f.Store.PutBlocks(ctx, partition, id, first, blocks)
	})
}

// GetBlock may fail.
func (f *Flaky) GetBlock(ctx context.Context, partition int, id weir.BulkID, no uint32) ([]byte, error) {
	return asked(ctx, f, OpGetBlock, partition, func() ([]byte, error) {
		return f.Store.GetBlock(ctx, partition, id, no)
	})
}

// DeleteBlocks may fail.
func (f *Flaky) DeleteBlocks(ctx context.Context, partition int, id weir.BulkID) error {
	return f.around(ctx, OpDeleteBlocks, partition, func() error {
		return f.Store.DeleteBlocks(ctx, partition, id)
	})
}

// BlockOwners may fail.
func (f *Flaky) BlockOwners(ctx context.Context, partition int) ([]weir.BulkID, error) {
	return asked(ctx, f, OpBlockOwners, partition, func() ([]weir.BulkID, error) {
		return f.Store.BlockOwners(ctx, partition)
	})
}

// Append may fail.
func (f *Flaky) Append(ctx context.Context, partition int, body []byte, c store.Claim) error {
	return f.around(ctx, OpAppend, partition, func() error {
		return f.Store.Append(ctx, partition, body, c)
	})
}

// CloseClaims may fail.
func (f *Flaky) CloseClaims(ctx context.Context, partition int, generation uint64) error {
	return f.around(ctx, OpCloseClaims, partition, func() error {
		return f.Store.CloseClaims(ctx, partition, generation)
	})
}

// Claimed may fail.
func (f *Flaky) Claimed(ctx context.Context, partition int, key string) ([]byte, error) {
	return asked(ctx, f, OpClaimed, partition, func() ([]byte, error) {
		return f.Store.Claimed(ctx, partition, key)
	})
}

// Read may fail.
func (f *Flaky) Read(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	return asked(ctx, f, OpRead, partition, func() ([]store.Message, error) {
		return f.Store.Read(ctx, partition, after, limit)
	})
}

// Peek may fail as Read does.
func (f *Flaky) Peek(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	return asked(ctx, f, OpRead, partition, func() ([]store.Message, error) {
		return f.Store.Peek(ctx, partition, after, limit)
	})
}

// Commit may fail.
func (f *Flaky) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	return f.around(ctx, OpCommit, partition, func() error {
		return f.Store.Commit(ctx, partition, tok, b)
	})
}

// Last may fail.
func (f *Flaky) Last(ctx context.Context, partition int) (store.Last, error) {
	return asked(ctx, f, OpLast, partition, func() (store.Last, error) {
		return f.Store.Last(ctx, partition)
	})
}

// Get may fail.
func (f *Flaky) Get(ctx context.Context, partition int, key []byte) ([]byte, error) {
	return asked(ctx, f, OpGet, partition, func() ([]byte, error) {
		return f.Store.Get(ctx, partition, key)
	})
}

// GetMany may fail.
func (f *Flaky) GetMany(ctx context.Context, partition int, keys [][]byte) ([][]byte, error) {
	return asked(ctx, f, OpGetMany, partition, func() ([][]byte, error) {
		return f.Store.GetMany(ctx, partition, keys)
	})
}

// Scan may fail.
func (f *Flaky) Scan(ctx context.Context, partition int, prefix []byte, yield func(key, value []byte) error) error {
	return f.around(ctx, OpScan, partition, func() error {
		return f.Store.Scan(ctx, partition, prefix, yield)
	})
}

// Page may fail.
func (f *Flaky) Page(ctx context.Context, partition int, r store.Range, limit int) ([]store.Row, error) {
	return asked(ctx, f, OpPage, partition, func() ([]store.Row, error) {
		return f.Store.Page(ctx, partition, r, limit)
	})
}

// Acquire may fail.
func (f *Flaky) Acquire(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
	return asked(ctx, f, OpAcquire, partition, func() (store.Token, error) {
		return f.Store.Acquire(ctx, partition, owner, ttl)
	})
}

// Renew may fail.
func (f *Flaky) Renew(ctx context.Context, partition int, tok store.Token, ttl time.Duration) (store.Last, error) {
	return asked(ctx, f, OpRenew, partition, func() (store.Last, error) {
		return f.Store.Renew(ctx, partition, tok, ttl)
	})
}

// Release may fail.
func (f *Flaky) Release(ctx context.Context, partition int, tok store.Token) error {
	return f.around(ctx, OpRelease, partition, func() error {
		return f.Store.Release(ctx, partition, tok)
	})
}

// Announce may fail, as a call of partition [store.Control].
func (f *Flaky) Announce(ctx context.Context, topic string, r store.Record, ttl time.Duration) error {
	return f.around(ctx, OpAnnounce, store.Control, func() error {
		return f.Store.Announce(ctx, topic, r, ttl)
	})
}

// Announced may fail, as a call of partition [store.Control].
func (f *Flaky) Announced(ctx context.Context, topic string) ([]store.Record, error) {
	return asked(ctx, f, OpAnnounced, store.Control, func() ([]store.Record, error) {
		return f.Store.Announced(ctx, topic)
	})
}

// CheckIn may fail as each of its parts does.
func (f *Flaky) CheckIn(ctx context.Context, topic string, r store.Record, ttl time.Duration, names ...string) (store.Attendance, error) {
	a, err := asked(ctx, f, OpAnnounce, store.Control, func() (store.Attendance, error) {
		return f.Store.CheckIn(ctx, topic, r, ttl)
	})
	if err != nil {
		return a, err
	}
	if a.Records, err = f.Announced(ctx, topic); err != nil {
		return a, err
	}
	a.Values = make([][]byte, len(names))
	for i, name := range names {
		if a.Values[i], err = f.Lookup(ctx, name); err != nil && !errors.Is(err, store.ErrNotFound) {
			return a, err
		}
	}
	return a, nil
}

// Swap may fail, as a call of partition [store.Control].
func (f *Flaky) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	return asked(ctx, f, OpSwap, store.Control, func() ([]byte, error) {
		return f.Store.Swap(ctx, name, old, value)
	})
}

// Lookup may fail, as a call of partition [store.Control].
func (f *Flaky) Lookup(ctx context.Context, name string) ([]byte, error) {
	return asked(ctx, f, OpLookup, store.Control, func() ([]byte, error) {
		return f.Store.Lookup(ctx, name)
	})
}

// List may fail, as a call of partition [store.Control].
func (f *Flaky) List(ctx context.Context, prefix, after string, limit int) ([]store.Record, error) {
	return asked(ctx, f, OpList, store.Control, func() ([]store.Record, error) {
		return f.Store.List(ctx, prefix, after, limit)
	})
}

// Hold may fail, as a call of partition [store.Control].
func (f *Flaky) Hold(ctx context.Context, l store.Limit, h store.Holding, ttl time.Duration) (int64, error) {
	return asked(ctx, f, OpHold, store.Control, func() (int64, error) {
		return f.Store.Hold(ctx, l, h, ttl)
	})
}

// Draw may fail, as a call of partition [store.Control].
func (f *Flaky) Draw(ctx context.Context, l store.Limit, units int64) (after time.Duration, ok bool, err error) {
	after, err = asked(ctx, f, OpDraw, store.Control, func() (after time.Duration, err error) {
		after, ok, err = f.Store.Draw(ctx, l, units)
		return after, err
	})
	return after, ok && err == nil, err
}

// Holdings may fail, as a call of partition [store.Control].
func (f *Flaky) Holdings(ctx context.Context, l store.Limit) ([]store.Holding, error) {
	return asked(ctx, f, OpHoldings, store.Control, func() ([]store.Holding, error) {
		return f.Store.Holdings(ctx, l)
	})
}

// SetTargets may fail, as a call of partition [store.Control].
func (f *Flaky) SetTargets(ctx context.Context, l store.Limit, epoch uint64, targets map[string]int64) error {
	return f.around(ctx, OpSetTargets, store.Control, func() error {
		return f.Store.SetTargets(ctx, l, epoch, targets)
	})
}
