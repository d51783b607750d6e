package readback

import (
	"context"
	"errors"
	"slices"

	"github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// mayHold calls yield with every block that may have an id, in order. All may, of
// a bulk action that was accepted by a version without filters.
func (b *Bulk) mayHold(ctx context.Context, hash uint64, yield func(no uint32) error) error {
	for first := uint32(0); first < b.Spec.Blocks(); first += filter.SegmentBlocks {
		blocks, err := b.mayHoldOf(ctx, hash, first)
		if err != nil {
			return err
		}
		for _, i := range blocks {
			if err := yield(first + uint32(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayHoldOf is mayHold for the segment that begins with a block. An only block that came with the message has no filter.
func (b *Bulk) mayHoldOf(ctx context.Context, hash uint64, first uint32) ([]int, error) {
	if b.Spec.Inline {
		return []int{0}, nil
	}
	end := min(first+filter.SegmentBlocks, b.Spec.Blocks())
	items := 0
	for no := first; no < end; no++ {
		items += b.Spec.BlockSize(no)
	}
	shape := filter.ShapeOf(items)
	no := stored.FilterBlocks + first/filter.SegmentBlocks*filter.MaxPages + uint32(shape.PageOf(hash))
	raw, err := b.from.store.GetBlock(ctx, b.Home, b.id, no)
	if errors.Is(err, store.ErrNotFound) {
		all := make([]int, end-first)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	page, err := filter.Open(raw)
	if err != nil {
		return nil, err
	}
	blocks := page.Blocks(nil, hash, shape)
	return slices.DeleteFunc(blocks, func(i int) bool { return i >= int(end-first) }), nil
}
