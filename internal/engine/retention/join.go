package retention

import (
	"context"
	"errors"
	"time"

	"github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// joinEvery is how often there may be enough bulk actions for a joint filter.
const joinEvery = 5 * time.Minute

// Join makes joint filters while there are enough bulk actions that are in none. Its caller removes nothing meanwhile.
func (k *Keeper) Join(ctx context.Context) error {
	for {
		plan, err := partition.NextJoint(stored.At(ctx, k.Store, k.Partition))
		if err != nil || plan == nil {
			return err
		}
		made, err := k.join(ctx, plan)
		if err != nil || !made {
			return err
		}
	}
}

// join makes a joint filter: first its pages, which are garbage until they count, and then the commit.
func (k *Keeper) join(ctx context.Context, plan *partition.Joining) (made bool, err error) {
	select {
	case k.Turn <- struct{}{}:
		defer func() { <-k.Turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	var ids filter.Segment
	var members []*partition.Created
	for _, c := range plan.Of {
		hashes, err := k.hashes(ctx, c)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
			continue // it is damaged: lookups say so
		}
		if err != nil {
			return false, err
		}
		ids.Add(uint32(len(members)), hashes)
		members = append(members, c)
	}
	if !plan.Enough(members) {
		return false, nil
	}
	name := stored.NewJoint()
	if err := k.Store.PutBlocks(ctx, k.Partition, name, 0, ids.Joint()); err != nil {
		return false, err
	}
	return true, k.commit(ctx, plan.Done(name, members))
}

// hashes reads the ids of a bulk action. Its own filter does not have enough of them: it was made for fewer.
func (k *Keeper) hashes(ctx context.Context, c *partition.Created) ([]uint64, error) {
	list := make([]uint64, 0, c.Items)
	for no := range c.Blocks() {
		items, err := stored.OpenItems(ctx, k.Store, k.Codec, k.Partition, c, no)
		if err != nil {
			return nil, err
		}
		for i := range items.Len() {
			list = append(list, filter.HashString(items.ID(i)))
		}
	}
	return list, nil
}
