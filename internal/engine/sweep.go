package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// submitFor is the longest that a submit may take where other processes use the store too: the blocks
// of one that is older belong to no submit.
const submitFor = 24 * time.Hour

// sweep removes the blocks of submits that never came to an end, when a
// partition is taken and before its loop runs. The order of looks makes it safe:
// a bulk action whose blocks were there first, whose submit is over, whose spec
// is not stored and whose message is not in the inbox was never accepted.
func (p *part) sweep(ctx context.Context) error {
	owners, err := p.engine.store.BlockOwners(ctx, p.no)
	if err != nil {
		return err
	}
	suspects, err := p.suspects(ctx, owners)
	if err == nil && len(suspects) > 0 {
		suspects, err = p.unaccepted(ctx, suspects)
	}
	if err != nil { // as when the disk is nearly full: no reason not to work
		p.engine.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "blocks of submits that never ended stay until the next start",
			slog.Int("partition", p.no), slog.Any("error", err))
		return nil
	}
	for _, id := range suspects {
		p.engine.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "removing blocks of a submit that never ended",
			slog.Int("partition", p.no), slog.String("bulk_action", string(id)))
		if err := p.engine.store.DeleteBlocks(ctx, p.no, id); err != nil {
			return err
		}
	}
	return nil
}

// suspects lists those of the owners of blocks that have no spec, and whose submit is not under way here.
func (p *part) suspects(ctx context.Context, owners []weir.BulkID) (ids []weir.BulkID, err error) {
	owners = slices.DeleteFunc(owners, func(id weir.BulkID) bool {
		return p.machine.Has(id) || // it was loaded
			p.engine.intake.UnderWay(id) || p.engine.intake.UnderWay(ingest.StagedFor(id)) || p.engine.shared() &&
			time.Since(stored.Began(id)) < submitFor
	})
	from := stored.At(ctx, p.engine.store, p.no)
	if owners, err = partition.Unknown(from, owners); err != nil {
		return nil, err
	}
	for _, id := range owners {
		if kept, err := p.engine.kept(ctx, id); err != nil || kept {
			continue // in doubt they stay until the next start
		}
		if _, _, err := partition.ReadStatus(from, id); errors.Is(err, store.ErrNotFound) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// unaccepted lists those of the suspects that have no message in the inbox either.
func (p *part) unaccepted(ctx context.Context, suspects []weir.BulkID) ([]weir.BulkID, error) {
	waiting, err := p.unread(ctx)
	return slices.DeleteFunc(suspects, func(id weir.BulkID) bool { return waiting[id] }), err
}

// unread tells which bulk actions have their message in the inbox. A mark of its
// own shows where the inbox ends: an answer that only takes long must not pass
// for an empty inbox.
func (p *part) unread(ctx context.Context) (map[weir.BulkID]bool, error) {
	end := rand.Text()
	body, err := partition.EncodeMark(end)
	if err != nil {
		return nil, err
	}
	if err := p.engine.store.Append(ctx, p.no, body, store.Claim{}); err != nil {
		return nil, err
	}
	ids := map[weir.BulkID]bool{}
	err = stored.EachMessage(ctx, p.no, p.engine.store.Read, func(c *partition.Created, mark string) bool {
		if c != nil {
			ids[c.ID] = true
		}
		return mark != end
	})
	return ids, err
}

// kept reports whether blocks that belong to no bulk action must stay, because a draft has them.
func (e *Engine) kept(ctx context.Context, name weir.BulkID) (bool, error) {
	if e.opts.Drafts == nil {
		return false, nil
	}
	id := name
	if staged := ingest.StagedFor(name); staged != "" {
		id = staged
	}
	return e.opts.Drafts(ctx, id)
}
