package readback

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// RetryName names retry number no of the items that ended at a step. Its claim is
// in the partition of the bulk action that is retried, as the retry itself is.
func RetryName(id weir.BulkID, step, no int) string {
	return fmt.Sprintf("%s.retry.%d.%d", id, step, no)
}

// RetriesAt returns the bulk actions that retry items that ended at a step, in the order in which they were accepted.
// One whose results are no longer kept is an error: what it has done is not known.
func (b *Bulk) RetriesAt(ctx context.Context, step int) ([]*Bulk, error) {
	return b.retriesAt(ctx, step, func(id weir.BulkID, err error) error {
		return fmt.Errorf("%s was retried by %s, and what became of its items is not known any more: %w", b.id, id, err)
	})
}

// KeptRetriesAt is RetriesAt without the retries whose results are no longer kept.
func (b *Bulk) KeptRetriesAt(ctx context.Context, step int) ([]*Bulk, error) {
	return b.retriesAt(ctx, step, func(_ weir.BulkID, err error) error {
		if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
			return nil
		}
		return err
	})
}

// retriesAt reads the claims of the retries of a step in order. away says what to do about one that cannot be read:
// leave it out, or fail.
func (b *Bulk) retriesAt(ctx context.Context, step int, away func(weir.BulkID, error) error) ([]*Bulk, error) {
	var made []*Bulk
	for no := 0; ; no++ {
		key := stored.ClaimKey(b.Spec.Tenant, RetryName(b.id, step, no))
		value, err := b.from.store.Claimed(ctx, b.Home, key)
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
		again, err := b.from.Get(ctx, id)
		if err != nil {
			if err := away(id, err); err != nil {
				return nil, err
			}
			continue
		}
		made = append(made, again)
	}
}

// TakenBy returns the key numbers of the items that retries of one bulk action took.
func TakenBy(ctx context.Context, retries []*Bulk) (Numbers, error) {
	var taken Numbers
	for _, x := range retries {
		for no := range x.Spec.Blocks() {
			along, err := stored.OpenBlock(ctx, x.from.store, x.from.codec, x.Home, x.id, no+stored.CarriedBlocks)
			if err != nil {
				return nil, fmt.Errorf("items of %s: %w", x.id, x.orGone(ctx, err))
			}
			for i := range along.Len() {
				n, err := strconv.ParseInt(along.ID(i), 10, 64)
				if err != nil || n < 0 {
					return nil, fmt.Errorf("items of %s: %w", x.id, store.ErrCorrupt)
				}
				taken.Add(n)
			}
		}
	}
	return taken, nil
}

// Numbers is a set of item Numbers: a bit for each.
type Numbers []uint64

// Add puts a number into the set.
func (s *Numbers) Add(n int64) {
	for int(n>>6) >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[n>>6] |= 1 << (n & 63)
}

// Has reports whether a number is in the set.
func (s *Numbers) Has(n int64) bool { return int(n>>6) < len(*s) && (*s)[n>>6]&(1<<(n&63)) != 0 }
