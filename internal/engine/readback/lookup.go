package readback

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// LookupOptions narrows a [Reader.Lookup]. The zero value looks everywhere.
type LookupOptions struct {
	// Tenants whose bulk actions are looked into. Default all.
	Tenants []string
	// Most is how many items are found at most. Default all.
	Most int
	// Before leaves out this bulk action and newer ones: where an earlier lookup ended, another goes on.
	Before weir.BulkID
}

const (
	lookupAtOnce = 8   // bulk actions looked into side by side
	lookupAhead  = 256 // that are looked into before the first of them is shown
)

// Lookup yields the items with that id in all bulk actions, newest first. The index names the bulk actions of few items
// that may have it, and joint filters those of the others, but for the newest and the largest. Of these it opens only the
// blocks that may contain the id.
func (r *Reader) Lookup(ctx context.Context, id string, o LookupOptions) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		ids, err := r.mayHave(ctx, filter.HashString(id), partition.Span{Before: o.Before})
		left := o.Most
		for batch := range slices.Chunk(ids, lookupAhead) {
			var found [][]Found
			if found, err = r.lookupIn(ctx, id, batch, o.Tenants); err != nil {
				break
			}
			for _, f := range slices.Concat(found...) {
				if left--; !yield(f, nil) || left == 0 {
					return
				}
			}
		}
		if err != nil {
			yield(Found{}, fmt.Errorf("look up an item: %w", err))
		}
	}
}

// mayHave lists the bulk actions in a span that may have an item with that hash, the newest first.
func (r *Reader) mayHave(ctx context.Context, hash uint64, in partition.Span) ([]weir.BulkID, error) {
	ids, err := r.Found(ctx, Filter{Item: hash, Span: in})
	if err != nil {
		return nil, err
	}
	joined, err := r.joined(ctx, hash, in)
	ids = append(ids, joined...)
	slices.SortFunc(ids, newestFirst)
	return slices.Compact(ids), err
}

// lookupIn looks into several bulk actions side by side.
func (r *Reader) lookupIn(ctx context.Context, id string, ids []weir.BulkID, tenants []string) ([][]Found, error) {
	bulks, err := r.specs(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make([][]Found, len(bulks))
	return found, sideBySide(ctx, len(bulks), func(ctx context.Context, i int) (err error) {
		b := bulks[i]
		if b == nil || tenants != nil && !slices.Contains(tenants, b.Spec.Tenant) {
			return nil
		}
		found[i], err = b.withID(ctx, id)
		if err = b.orGone(ctx, err); errors.Is(err, weir.ErrExpired) || errors.Is(err, store.ErrNotFound) {
			return nil // it was removed meanwhile
		}
		return err
	})
}

// specs reads the specs of bulk actions, those of a partition together; nil: it was removed.
func (r *Reader) specs(ctx context.Context, ids []weir.BulkID) ([]*Bulk, error) {
	list, homes := make([]*Bulk, len(ids)), map[int][]int{} // of a partition, their places in list
	for i, id := range ids {
		p, err := stored.Home(id, r.Partitions())
		if err != nil {
			return nil, err
		}
		homes[p] = append(homes[p], i)
	}
	parts := slices.Sorted(maps.Keys(homes))
	return list, sideBySide(ctx, len(parts), func(ctx context.Context, i int) error {
		p, at := parts[i], homes[parts[i]]
		of := make([]weir.BulkID, len(at))
		for k, i := range at {
			of[k] = ids[i]
		}
		specs, err := partition.ReadSpecs(stored.At(ctx, r.store, p), of)
		if err != nil {
			return err
		}
		for k, spec := range specs {
			if spec == nil { // its owner may not have read it
				spec, err = stored.FindSpec(ctx, r.store, p, of[k])
			}
			switch {
			case errors.Is(err, store.ErrNotFound), errors.Is(err, weir.ErrExpired):
				err = nil
			case err != nil:
				return err
			default:
				list[at[k]] = &Bulk{from: r, id: of[k], Home: p, Spec: spec}
			}
		}
		return nil
	})
}

// withID finds the items of an id in one bulk action, in order.
func (b *Bulk) withID(ctx context.Context, id string) (found []Found, err error) {
	var r *Report
	err = b.mayHold(ctx, filter.HashString(id), func(no uint32) error {
		items, err := b.open(ctx, no)
		if err != nil {
			return err
		}
		for i := range items.Len() {
			if items.ID(i) != id {
				continue
			}
			if r == nil {
				if r, err = b.outline(ctx); err != nil {
					return err
				}
			}
			f, err := r.item(ctx, items, no, i)
			if err != nil {
				return err
			}
			found = append(found, f)
		}
		return nil
	})
	return found, err
}

// Item is the item at a place in the bulk action, from 0.
func (b *Bulk) Item(ctx context.Context, no int64) (Found, error) {
	if no < 0 || no >= b.Spec.Items {
		return Found{}, fmt.Errorf("item %d of %s: %w: it has %d", no, b.id, weir.ErrNotFound, b.Spec.Items)
	}
	at, i := b.Spec.Locate(no)
	r, err := b.outline(ctx) // says if it was removed
	if err != nil {
		return Found{}, err
	}
	items, err := b.open(ctx, at)
	if err != nil {
		return Found{}, b.orGone(ctx, err)
	}
	return r.item(ctx, items, at, i)
}

// ItemByID is the item of that id in the bulk action: the first, where several were accepted.
func (b *Bulk) ItemByID(ctx context.Context, id string) (Found, error) {
	if _, err := b.outline(ctx); err != nil { // it was removed, perhaps
		return Found{}, err
	}
	found, err := b.withID(ctx, id)
	if err != nil {
		return Found{}, b.orGone(ctx, err)
	}
	if len(found) == 0 {
		return Found{}, fmt.Errorf("item %q of %s: %w", id, b.id, weir.ErrNotFound)
	}
	return found[0], nil
}

// stateOf is where the items of a block are.
func (r *Report) stateOf(ctx context.Context, no uint32) (blockState, error) {
	for _, p := range r.bulk.places() {
		s, err := partition.ReadBlock(stored.At(ctx, r.bulk.from.store, p), r.bulk.Spec, no)
		if !errors.Is(err, store.ErrNotFound) {
			return blockState{no, s, p}, err
		}
	}
	return blockState{no, r.fresh(no), r.bulk.Home}, nil
}
