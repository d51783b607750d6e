package storetest

import (
	"context"
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
	OpRead         Op = "Read"
	OpCommit       Op = "Commit"
	OpNumber       Op = "Number"
	OpGet          Op = "Get"
	OpScan         Op = "Scan"
	OpAcquire      Op = "Acquire"
	OpRenew        Op = "Renew"
	OpRelease      Op = "Release"
)

// Call is one call of a store.
type Call struct {
	Op        Op
	Partition int
}

// Fault is what happens to a call. The zero value is none.
type Fault struct {
	// Delay comes first. The call ends early with its context.
	Delay time.Duration
	// Before is returned instead of making the call.
	Before error
	// Lost makes the call and then loses its answer: [store.ErrUnknown] is
	// returned, and nothing else, whether the call succeeded or not.
	Lost bool
}

// Flaky is a store that fails on purpose: Fail is asked before each call. It is
// called from many goroutines, if the store is.
type Flaky struct {
	store.Store
	Fail func(Call) Fault
}

// around makes the call, or has it fail.
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

// asked is around for calls that return a value. A value whose answer is lost is zero.
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

// Commit may fail.
func (f *Flaky) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	return f.around(ctx, OpCommit, partition, func() error {
		return f.Store.Commit(ctx, partition, tok, b)
	})
}

// Number may fail.
func (f *Flaky) Number(ctx context.Context, partition int) (uint64, error) {
	return asked(ctx, f, OpNumber, partition, func() (uint64, error) {
		return f.Store.Number(ctx, partition)
	})
}

// Get may fail.
func (f *Flaky) Get(ctx context.Context, partition int, key []byte) ([]byte, error) {
	return asked(ctx, f, OpGet, partition, func() ([]byte, error) {
		return f.Store.Get(ctx, partition, key)
	})
}

// Scan may fail.
func (f *Flaky) Scan(ctx context.Context, partition int, prefix []byte, yield func(key, value []byte) error) error {
	return f.around(ctx, OpScan, partition, func() error {
		return f.Store.Scan(ctx, partition, prefix, yield)
	})
}

// Acquire may fail.
func (f *Flaky) Acquire(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
	return asked(ctx, f, OpAcquire, partition, func() (store.Token, error) {
		return f.Store.Acquire(ctx, partition, owner, ttl)
	})
}

// Renew may fail.
func (f *Flaky) Renew(ctx context.Context, partition int, tok store.Token, ttl time.Duration) error {
	return f.around(ctx, OpRenew, partition, func() error {
		return f.Store.Renew(ctx, partition, tok, ttl)
	})
}

// Release may fail.
func (f *Flaky) Release(ctx context.Context, partition int, tok store.Token) error {
	return f.around(ctx, OpRelease, partition, func() error {
		return f.Store.Release(ctx, partition, tok)
	})
}
