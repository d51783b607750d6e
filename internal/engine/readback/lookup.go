package readback

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
	"golang.org/x/sync/errgroup"
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
	lookupAtOnce = 8  // bulk actions looked into side by side
	lookupAhead  = 64 // that are looked into before the first of them is shown
)

// Lookup yields the items with that id in all bulk actions, newest first. The index names the bulk actions of few items
// that may have it. Of the others it opens only the blocks that may contain the id.
func (r *Reader) Lookup(ctx context.Context, id string, o LookupOptions) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		ids, err := r.Found(ctx, Filter{Item: filter.HashString(id), Span: partition.Span{Before: o.Before}})
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

// lookupIn looks into several bulk actions side by side.
func (r *Reader) lookupIn(ctx context.Context, id string, bulks []weir.BulkID, tenants []string) ([][]Found, error) {
	found := make([][]Found, len(bulks))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(lookupAtOnce)
	for i, bulk := range bulks {
		g.Go(func() (err error) {
			found[i], err = r.lookupOne(ctx, id, bulk, tenants)
			return err
		})
	}
	return found, g.Wait()
}

// lookupOne looks into one bulk action, which may be removed meanwhile.
func (r *Reader) lookupOne(ctx context.Context, id string, bulk weir.BulkID, tenants []string) ([]Found, error) {
	p, err := stored.Home(bulk, r.Partitions())
	if err != nil {
		return nil, err
	}
	spec, err := partition.ReadSpec(stored.At(ctx, r.store, p), bulk)
	if errors.Is(err, store.ErrNotFound) {
		spec, err = stored.FindSpec(ctx, r.store, p, bulk)
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
		return nil, nil
	}
	if err != nil || tenants != nil && !slices.Contains(tenants, spec.Tenant) {
		return nil, err
	}
	b := &Bulk{from: r, id: bulk, Home: p, Spec: spec}
	found, err := b.withID(ctx, id)
	if err = b.orGone(ctx, err); errors.Is(err, weir.ErrExpired) || errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return found, err
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
