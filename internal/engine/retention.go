package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
)

const (
	day          = 24 * time.Hour
	leastKept    = time.Minute     // what was sent a moment ago may be put in again
	mostKept     = 100 * 365 * day // longer does not count in nanoseconds
	tombstoneFor = 90 * day        // how long it is known that a bulk action was there
)

// retain removes bulk actions that ended long ago, and what is left of those that
// were removed even longer ago, until ctx ends.
func (p *part) retain(ctx context.Context) {
	for every := time.Minute; ; every = lookForOver(p.engine.opts.KeepFor) {
		if sleep(ctx, every); ctx.Err() != nil {
			return
		}
		if err := p.removeOver(ctx, time.Now()); err != nil && ctx.Err() == nil {
			p.engine.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "what is over was not removed, will try again",
				slog.Int("partition", p.no), slog.Any("error", err))
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
func (p *part) removeOver(ctx context.Context, now time.Time) error {
	from := stored.At(ctx, p.engine.store, p.no)
	begun, err := partition.Removing(from)
	if err != nil {
		return err
	}
	expired, err := p.expired(from, now)
	if err != nil {
		return err
	}
	for _, id := range append(begun, expired...) {
		if err := p.remove(ctx, id); err != nil {
			return err
		}
	}
	old := now.Add(-tombstoneFor)
	forgotten, err := partition.Forgettable(from, youngerThan(old), old.UnixNano())
	if err != nil {
		return err
	}
	for _, id := range forgotten {
		if err := p.carryOut(ctx, partition.Forget(id)); err != nil {
			return err
		}
	}
	return nil
}

// expired lists what ended longer ago than it is kept. None of it has an id that was made since.
func (p *part) expired(from stored.Rows, now time.Time) ([]weir.BulkID, error) {
	keep := int64(p.engine.opts.KeepFor)
	return partition.Expired(from, youngerThan(now.Add(-leastKept)), func(c *partition.Created, s *partition.Status) bool {
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
func (p *part) remove(ctx context.Context, id weir.BulkID) error {
	for {
		r, err := partition.NextRemoval(time.Now().UnixNano(), stored.At(ctx, p.engine.store, p.no), id)
		if err != nil {
			return err
		}
		if r.Last { // nothing says any more that the blocks are needed
			if err := p.engine.store.DeleteBlocks(ctx, p.no, id); err != nil {
				return err
			}
		}
		if err := p.carryOut(ctx, r); err != nil {
			return err
		}
		if r.Last {
			p.engine.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "bulk action removed: it has been kept for its time",
				slog.Int("partition", p.no), slog.String("bulk_action", string(id)))
			return nil
		}
	}
}

// carryOut has the loop commit a removal, and waits until it is durable. One at a time is under way.
func (p *part) carryOut(ctx context.Context, r *partition.Removal) error {
	p.mail.put(input{remove: r})
	select {
	case <-p.removed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
