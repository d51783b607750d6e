// Package retention removes what a store need not keep any longer: bulk actions that ended long
// ago ([Keeper]), and the blocks of submits that never came to an end ([Sweep]).
package retention

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
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

// Keeper removes what is over from one partition.
type Keeper struct {
	Store     store.Store
	Partition int
	KeepFor   time.Duration // of bulk actions that do not say otherwise; below 0: for ever
	Log       *slog.Logger
	// Commit has a removal committed, and waits until it is durable. One at a time is under way.
	Commit func(context.Context, *partition.Removal) error
}

// Run removes bulk actions that ended long ago, and what is left of those that
// were removed even longer ago, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for every := time.Minute; ; every = lookForOver(k.KeepFor) {
		if own.Pause(ctx, every, nil); ctx.Err() != nil {
			return
		}
		if err := k.removeOver(ctx, time.Now()); err != nil && ctx.Err() == nil {
			k.Log.LogAttrs(ctx, slog.LevelWarn, "what is over was not removed, will try again",
				slog.Int("partition", k.Partition), slog.Any("error", err))
		}
	}
}

// lookForOver is how often what is kept for so long is looked for: every look may read all that is kept.
func lookForOver(keep time.Duration) time.Duration {
	if keep < 0 {
		return time.Hour
	}
	return min(max(keep/500, time.Minute), time.Hour)
}

// removeOver removes all that is over at a time. What another process has begun to remove goes first.
func (k *Keeper) removeOver(ctx context.Context, now time.Time) error {
	from := stored.At(ctx, k.Store, k.Partition)
	begun, err := partition.Removing(from)
	if err != nil {
		return err
	}
	expired, err := k.expired(from, now)
	if err != nil {
		return err
	}
	for _, id := range append(begun, expired...) {
		if err := k.remove(ctx, id); err != nil {
			return err
		}
	}
	old := now.Add(-tombstoneFor)
	forgotten, err := partition.Forgettable(from, youngerThan(old), old.UnixNano())
	if err != nil {
		return err
	}
	for _, id := range forgotten {
		if err := k.Commit(ctx, partition.Forget(id)); err != nil {
			return err
		}
	}
	return nil
}

// expired lists what ended longer ago than it is kept. None of it has an id that was made since.
func (k *Keeper) expired(from stored.Rows, now time.Time) ([]weir.BulkID, error) {
	keep := int64(k.KeepFor)
	return partition.Expired(from, youngerThan(now.Add(-Least)), func(c *partition.Created, s *partition.Status) bool {
		kept := keep
		if c.KeepFor != 0 {
			kept = c.KeepFor
		}
		return kept >= 0 && s.Finished < now.UnixNano()-kept
	})
}

// youngerThan knows ids that were made after a time. Submitters' clocks may be
// ahead of this one: then it takes as much longer.
func youngerThan(at time.Time) func(weir.BulkID) bool {
	return func(id weir.BulkID) bool { return stored.Began(id).After(at) }
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
		if err := k.Commit(ctx, r); err != nil {
			return err
		}
		if r.Last {
			k.Log.LogAttrs(ctx, slog.LevelInfo, "bulk action removed: it has been kept for its time",
				slog.Int("partition", k.Partition), slog.String("bulk_action", string(id)))
			return nil
		}
	}
}
