package readback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store"
)

// RowOptions says which items [Bulk.Rows] yields. The zero value means all.
type RowOptions struct {
	// From is the number of the first item that may be yielded; blocks before it are not read.
	From int64
	// State takes only items in that state. Blocks without such items are not opened. Default: any.
	State report.State
	// Turn is called between two blocks, and after the last: next is the number of
	// the item that follows, and opened whether the block before it was. If it
	// returns false, nothing more is read. Default: go on.
	Turn func(next int64, opened bool) bool
}

// Rows yields the items as of now, in the order of the input. It holds one block
// of them in memory. While the bulk action runs, items of later blocks are newer.
func (b *Bulk) Rows(ctx context.Context, o RowOptions) iter.Seq2[report.Row, error] {
	return func(yield func(report.Row, error) bool) {
		r, err := b.outline(ctx)
		if err != nil {
			yield(report.Row{}, fmt.Errorf("items of %s: %w", b.id, err))
			return
		}
		r.read(ctx, o, yield)
	}
}

// Passed are the steps that an item of the bulk action has passed in it, in order.
// Those that it had passed before, in the one that is retried, are not among them.
func (b *Bulk) Passed(x *report.Row) []string {
	n := len(b.Spec.Steps)
	if x.State != report.StateDone {
		n = slices.Index(b.Spec.Steps, x.Step)
	}
	return b.Spec.Steps[b.Spec.FirstStep:max(n, b.Spec.FirstStep)]
}

// Key is the idempotency key that an item of the bulk action has at a step.
func (b *Bulk) Key(x *report.Row, step string) string {
	return weir.ItemKey(cmp.Or(b.Spec.KeysOf, b.id), slices.Index(b.Spec.Steps, step), x.KeyNo)
}

// read yields the rows that are wanted, block by block. An error is the last.
func (r *Report) read(ctx context.Context, o RowOptions, yield func(report.Row, error) bool) {
	spec := r.bulk.Spec
	if o.From >= spec.Items {
		return
	}
	place := r.bulk.Home
	no, skip := spec.Locate(max(o.From, 0))
	for ; no < spec.Blocks(); no, skip = no+1, 0 {
		at, err := r.stateFrom(ctx, place, no)
		opened := err == nil && r.mayHave(at.state, o.State)
		var list []report.Row
		if opened {
			list, err = r.block(ctx, at)
		}
		if err != nil {
			yield(report.Row{}, fmt.Errorf("items of %s: %w", r.bulk.id, r.bulk.orGone(ctx, err)))
			return
		}
		place = at.partition
		for i := min(skip, len(list)); i < len(list); i++ {
			if (o.State == "" || list[i].State == o.State) && !yield(list[i], nil) {
				return
			}
		}
		if o.Turn != nil && !o.Turn(spec.Position(no)+int64(spec.BlockSize(no)), opened) {
			return
		}
	}
}

// stateFrom is where the items of a block are. The partition that had the block
// before it is asked first: neighbours are mostly together.
func (r *Report) stateFrom(ctx context.Context, place int, no uint32) (blockState, error) {
	if r.bulk.Spec.Shared() {
		s, err := partition.ReadBlock(stored.At(ctx, r.bulk.from.store, place), r.bulk.Spec, no)
		if !errors.Is(err, store.ErrNotFound) {
			return blockState{no, s, place}, err
		}
	}
	return r.stateOf(ctx, no)
}

// mayHave reports whether a block has items in a state, as far as the block's own
// state tells; any state if it is empty.
func (r *Report) mayHave(s *block.State, state report.State) bool {
	last, final := len(r.bulk.Spec.Steps)-1, r.bulk.Status.State.Final()
	switch state {
	case report.StateFailed:
		return !s.Failed.Empty()
	case report.StateDone:
		return !s.Passed[last].Empty()
	case report.StateWaiting:
		return !final && len(s.Retries) > 0
	case report.StateCancelled:
		return !s.LeftOut.Empty() || final && s.Passed[last].Len()+s.Failed.Len() < s.Size
	case report.StateReady:
		return !final && s.Passed[last].Len()+s.Failed.Len()+s.LeftOut.Len() < s.Size
	}
	return true
}
