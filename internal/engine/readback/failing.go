package readback

import (
	"context"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
)

// FailingPart is some of the bulk actions with failed items: those of a partition that were submitted within some hours.
type FailingPart struct {
	Partition int
	Mark      partition.Mark
}

// FailingParts lists the parts that have bulk actions with failed items, by partition, the oldest first. What it reads
// depends on how many parts there are, not on how many bulk actions.
func (r *Reader) FailingParts(ctx context.Context) ([]FailingPart, error) {
	parts := make([][]FailingPart, r.Partitions())
	err := sideBySide(ctx, len(parts), func(ctx context.Context, p int) error {
		marks, err := partition.Marks(stored.At(ctx, r.store, p))
		for _, m := range marks {
			parts[p] = append(parts[p], FailingPart{p, m})
		}
		return err
	})
	return slices.Concat(parts...), err
}

// FailingIn lists the bulk actions of a part that have failed items, the oldest first. A change since its mark was read
// gives it another mark.
func (r *Reader) FailingIn(ctx context.Context, p FailingPart) ([]weir.BulkID, error) {
	return partition.FailedOf(stored.At(ctx, r.store, p.Partition), p.Mark)
}
