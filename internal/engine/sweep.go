package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// submits knows the submits under way, whose blocks look like garbage, and those
// accepted here that their partition's owner, if it is this node, has not read yet.
type submits struct {
	mu    sync.Mutex
	under map[weir.BulkID]*submitting
}

type submitting struct {
	partition int
	accepted  int64 // items counted as pending until the owner has read of them; 0 while it is under way
}

func (s *submits) begin(id weir.BulkID, partition int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under == nil {
		s.under = map[weir.BulkID]*submitting{}
	}
	s.under[id] = &submitting{partition: partition}
}

// accept notes that a submit's items wait for their owner.
func (s *submits) accept(id weir.BulkID, items int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.under[id]; u != nil { // else its owner has read it
		u.accepted = items
	}
}

// end forgets a submit and reports whether it was known.
func (s *submits) end(id weir.BulkID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.under[id]
	delete(s.under, id)
	return known != nil
}

// drop forgets what waits for an owner that is this node no more, and returns how many items that is.
func (s *submits) drop(partition int) (items int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, u := range s.under {
		if u.partition == partition && u.accepted > 0 {
			items += u.accepted
			delete(s.under, id)
		}
	}
	return items
}

func (s *submits) underWay(id weir.BulkID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under[id] != nil
}

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
		p.engine.log.LogAttrs(ctx, slog.LevelWarn, "blocks of submits that never ended stay until the next start",
			slog.Int("partition", p.no), slog.Any("error", err))
		return nil
	}
	for _, id := range suspects {
		p.engine.log.LogAttrs(ctx, slog.LevelInfo, "removing blocks of a submit that never ended",
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
			p.engine.submits.underWay(id) || p.engine.submits.underWay(stagedFor(id)) || p.engine.shared() && time.Since(submitBegan(id)) < submitFor
	})
	from := rows{ctx, p.engine.store, p.no}
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
	err = p.engine.eachUnread(ctx, p.no, func(c *partition.Created, mark string) bool {
		if c != nil {
			ids[c.ID] = true
		}
		return mark != end
	})
	return ids, err
}

// eachUnread shows the messages in the inbox until yield returns false. At the
// end of the inbox it waits for more, until ctx ends.
func (e *Engine) eachUnread(ctx context.Context, part int, yield func(c *partition.Created, mark string) bool) error {
	return e.eachMessage(ctx, part, e.store.Read, yield)
}

// eachMessage shows the messages of an inbox until yield returns false or read, which is a store's Read or Peek, has no more.
func (e *Engine) eachMessage(ctx context.Context, part int, read func(context.Context, int, uint64, int) ([]store.Message, error), yield func(c *partition.Created, mark string) bool) error {
	for after := uint64(0); ; {
		msgs, err := read(ctx, part, after, inboxRead)
		if err != nil || len(msgs) == 0 {
			return err
		}
		for _, m := range msgs {
			c, mark, err := partition.DecodeMessage(m)
			if err != nil {
				return err
			}
			if !yield(c, mark) {
				return nil
			}
			after = m.Seq
		}
	}
}
