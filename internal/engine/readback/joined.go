package readback

import (
	"context"
	"errors"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// joined lists the bulk actions in a span that may have an item with that hash, as far as their joint filters tell. It is
// called after what is in none was listed: a bulk action comes into a joint filter, and never leaves all of them.
func (r *Reader) joined(ctx context.Context, hash uint64, in partition.Span) (ids []weir.BulkID, err error) {
	var mu sync.Mutex
	err = sideBySide(ctx, r.Partitions(), func(ctx context.Context, p int) error {
		found, err := r.joinedIn(ctx, p, hash)
		for errors.Is(err, errReplaced) {
			found, err = r.joinedIn(ctx, p, hash)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, id := range found {
			if in.Has(id) {
				ids = append(ids, id)
			}
		}
		return err
	})
	return ids, err
}

var errReplaced = errors.New("a joint filter was replaced by another one")

// joinedIn is joined for one partition.
func (r *Reader) joinedIn(ctx context.Context, p int, hash uint64) (ids []weir.BulkID, err error) {
	rows := stored.At(ctx, r.store, p)
	all, err := partition.Joints(rows)
	if err != nil {
		return nil, err
	}
	numbers := make([][]int, len(all)) // of the members that may have it
	err = sideBySide(ctx, len(all), func(ctx context.Context, i int) (err error) {
		numbers[i], err = r.ask(ctx, p, &all[i], hash)
		return err
	})
	var names []weir.BulkID
	var of [][]int
	for i, j := range all {
		if len(numbers[i]) > 0 {
			names, of = append(names, j.Name), append(of, numbers[i])
		}
	}
	if err != nil || len(names) == 0 {
		return nil, err
	}
	members, err := partition.Members(rows, names)
	if err != nil {
		return nil, err
	}
	for i, list := range members {
		if list == nil {
			return nil, errReplaced
		}
		for _, no := range of[i] {
			if no < len(list) {
				ids = append(ids, list[no])
			}
		}
	}
	return ids, nil
}

// ask returns the numbers of the members of a joint filter that may have an item with that hash: all, if the store has
// lost the page.
func (r *Reader) ask(ctx context.Context, p int, j *partition.Joint, hash uint64) (numbers []int, err error) {
	shape := filter.JointShape(j.Items)
	raw, err := r.store.GetBlock(ctx, p, j.Name, uint32(shape.PageOf(hash)))
	if errors.Is(err, store.ErrNotFound) {
		for no := range partition.MostJoined {
			numbers = append(numbers, no)
		}
		return numbers, nil
	}
	if err != nil {
		return nil, err
	}
	page, err := filter.Open(raw)
	if err != nil {
		return nil, err
	}
	return page.Blocks(nil, hash, shape), nil
}
