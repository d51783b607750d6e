package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// retryName names retry number no of the items that ended at a step. Its claim is
// in the partition of the bulk action that is retried, as the retry itself is.
func retryName(id weir.BulkID, step, no int) string {
	return fmt.Sprintf("%s.retry.%d.%d", id, step, no)
}

// Retries returns the bulk actions that retry items of this one, by step and then
// in the order in which they were accepted. One whose results are no longer kept
// is an error: what it has done is not known.
func (b *BulkAction) Retries(ctx context.Context) ([]*BulkAction, error) {
	var all []*BulkAction
	for step := range b.spec.Steps {
		made, err := b.retriesAt(ctx, step)
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	return all, nil
}

// retriesAt returns the retries of items that ended at a step.
func (b *BulkAction) retriesAt(ctx context.Context, step int) ([]*BulkAction, error) {
	var made []*BulkAction
	for {
		key := claimKey(b.spec.Tenant, retryName(b.id, step, len(made)))
		value, err := b.engine.store.Claimed(ctx, b.partition, key)
		if errors.Is(err, store.ErrNotFound) {
			return made, nil
		}
		if err == nil && len(value) <= sha256.Size {
			err = store.ErrCorrupt
		}
		if err != nil {
			return nil, fmt.Errorf("retries of %s: %w", b.id, err)
		}
		id := weir.BulkID(value[:len(value)-sha256.Size])
		again, err := b.engine.Get(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("%s was retried by %s, and what became of its items is not known any more: %w", b.id, id, err)
		}
		made = append(made, again)
	}
}

// takenBy returns the key numbers of the items that retries of one bulk action took.
func takenBy(ctx context.Context, retries []*BulkAction) (numbers, error) {
	var taken numbers
	for _, x := range retries {
		for no := range x.spec.Blocks() {
			along, err := openBlock(ctx, x.engine.store, x.engine.codec, x.partition, x.id, no+carriedBlocks)
			if err != nil {
				return nil, fmt.Errorf("items of %s: %w", x.id, x.orGone(ctx, err))
			}
			for i := range along.Len() {
				n, err := strconv.ParseInt(along.ID(i), 10, 64)
				if err != nil || n < 0 {
					return nil, fmt.Errorf("items of %s: %w", x.id, store.ErrCorrupt)
				}
				taken.add(n)
			}
		}
	}
	return taken, nil
}

// numbers is a set of item numbers: a bit for each.
type numbers []uint64

func (s *numbers) add(n int64) {
	for int(n>>6) >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[n>>6] |= 1 << (n & 63)
}

func (s *numbers) has(n int64) bool { return int(n>>6) < len(*s) && (*s)[n>>6]&(1<<(n&63)) != 0 }
