// Package retention removes what a store need not keep any longer: bulk actions that ended long
// ago ([Keeper]), and the blocks of submits that never came to an end ([Sweep]).
package retention

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// How long a bulk action may be kept, and is by default.
const (
	Least   = time.Minute     // what was sent a moment ago may be put in again
	Most    = 100 * 365 * day // longer does not count in nanoseconds
	Default = 30 * day
)

const (
	day          = 24 * time.Hour
	tombstoneFor = 90 * day // how long it is known that a bulk action was there
)

// Keeper removes what is over from one partition, and keeps what is left easy to search.
type Keeper struct {
	Store     store.Store
	Partition int
	KeepFor   time.Duration // of bulk actions that do not say otherwise; below 0: for ever
	Log       *slog.Logger
	Codec     *block.Codec
	Turn      chan struct{} // with room for one: keepers that make a joint filter at the same time
	// Commit has a removal committed, and waits until it is durable. One at a time is under way.
	Commit func(context.Context, *partition.Removal) error
}

// Run removes bulk actions that ended long ago, and what is left of those that
// were removed even longer ago, and joins the filters of those that are kept, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for over := time.Now().Add(time.Minute); ; {
		if own.Pause(ctx, min(joinEvery, time.Until(over)), nil); ctx.Err() != nil {
			return
		}
		if now := time.Now(); !now.Before(over) {
			k.complain(ctx, "what is over was not removed, will try again", k.removeOver(ctx, now))
			over = time.Now().Add(lookForOver(k.KeepFor))
		}
		k.complain(ctx, "joint filters were not made, will try again", k.Join(ctx))
	}
}

func (k *Keeper) complain(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		k.Log.LogAttrs(ctx, slog.LevelWarn, what, slog.Int("partition", k.Partition), slog.Any("error", err))
	}
}

// lookForOver is how often what is kept for so long is looked for.
func lookForOver(keep time.Duration) time.Duration {
	if keep < 0 {
		return time.Hour
	}
	return min(max(keep/500, time.Minute), time.Hour)
}

// pieceIDs is how many bulk actions are looked at together.
const pieceIDs = 256

// removeOver removes all that is over at a time, piece by piece. What another process has begun to remove goes first.
func (k *Keeper) removeOver(ctx context.Context, now time.Time) error {
	from := stored.At(ctx, k.Store, k.Partition)
	begun, err := partition.Removing(from)
	for _, id := range begun {
		if err = k.remove(ctx, id); err != nil {
			return err
		}
	}
	for more := err == nil; more && err == nil; {
		var due []weir.BulkID
		due, err = partition.Due(from, now.UnixNano(), pieceIDs)
		if more = err == nil && len(due) > 0; more {
			err = k.removeAll(ctx, due)
		}
	}
	if err == nil && k.KeepFor >= 0 {
		err = k.removeExpired(ctx, from, now)
	}
	if err == nil {
		err = k.forget(ctx, from, now)
	}
	return err
}

func (k *Keeper) removeAll(ctx context.Context, ids []weir.BulkID) error {
	for _, id := range ids {
		if err := k.remove(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// removeExpired removes what ended longer ago than all is kept. None of it has an id that was made since.
func (k *Keeper) removeExpired(ctx context.Context, from stored.Rows, now time.Time) error {
	old := now.Add(-k.KeepFor)
	over := func(c *partition.Created, s *partition.Status) bool {
		return c.KeepFor == 0 && s.Finished < old.UnixNano()
	}
	for after := weir.BulkID(""); ; {
		expired, next, err := partition.Expired(from, after, pieceIDs, youngerThan(now.Add(-max(Least, k.KeepFor))), over)
		if err == nil {
			err = k.removeAll(ctx, expired)
		}
		if err != nil || next == "" {
			return err
		}
		after = next
	}
}

// forget removes tombstones that are old enough. They are made about in the order of ids: it ends where a piece has none.
func (k *Keeper) forget(ctx context.Context, from stored.Rows, now time.Time) error {
	old := now.Add(-tombstoneFor)
	for after := weir.BulkID(""); ; {
		ids, next, err := partition.Forgettable(from, after, pieceIDs, youngerThan(old), old.UnixNano())
		for _, id := range ids {
			if err == nil {
				err = k.Commit(ctx, partition.Forget(id))
			}
		}
		if err != nil || next == "" || len(ids) == 0 {
			return err
		}
		after = next
	}
}

// youngerThan knows ids that were made after a time. Submitters' clocks may be
// ahead of this one: then it takes as much longer.
func youngerThan(at time.Time) func(weir.BulkID) bool {
	return func(id weir.BulkID) bool { return stored.Began(id).After(at) }
}

// commit has a step committed, and removes the joint filters that nothing names any more. What it leaves when it dies
// the next owner removes.
func (k *Keeper) commit(ctx context.Context, r *partition.Removal) error {
	err := k.Commit(ctx, r)
	for _, name := range r.Dropped {
		if err == nil {
			err = k.Store.DeleteBlocks(ctx, k.Partition, name)
		}
	}
	return err
}

// remove removes a bulk action, or goes on with that.
func (k *Keeper) remove(ctx context.Context, id weir.BulkID) error {
	for {
		r, err := partition.NextRemoval(time.Now().UnixNano(), stored.At(ctx, k.Store, k.Partition), id)
		if err != nil {
			return err
		}
		if r.Last { // nothing says any more that the blocks are needed
			for _, name := range append(r.Stages, id) {
				if err := k.Store.DeleteBlocks(ctx, k.Partition, name); err != nil {
					return err
				}
			}
		}
		if err := k.commit(ctx, r); err != nil {
			return err
		}
		if r.Last {
			k.Log.LogAttrs(ctx, slog.LevelInfo, "bulk action removed: it has been kept for its time",
				slog.Int("partition", k.Partition), slog.String("bulk_action", string(id)))
			return nil
		}
	}
}
