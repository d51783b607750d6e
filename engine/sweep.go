package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/store"
)

// sweeps knows the submits under way, whose blocks look like garbage, and those
// accepted here that their partition's owner has not read yet.
type sweeps struct {
	mu    sync.Mutex
	under map[weir.BulkID]bool
}

func (s *sweeps) begin(id weir.BulkID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under == nil {
		s.under = map[weir.BulkID]bool{}
	}
	s.under[id] = true
}

// end forgets a submit and reports whether it was known.
func (s *sweeps) end(id weir.BulkID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.under[id]
	delete(s.under, id)
	return known
}

func (s *sweeps) underWay(id weir.BulkID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under[id]
}

// sweep removes the blocks of submits that never came to an end, when a
// partition is taken. The order of looks makes it safe: a bulk action whose
// blocks were there first, whose submit is over, whose message is not in the
// inbox and whose spec is not stored was never accepted.
func (p *part) sweep(ctx context.Context) error {
	owners, err := p.engine.store.BlockOwners(ctx, p.no)
	if err != nil {
		return err
	}
	var suspects []weir.BulkID
	for _, id := range owners {
		if !p.engine.sweeps.underWay(id) {
			suspects = append(suspects, id)
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	waiting, err := p.unread(ctx)
	if err != nil {
		return err
	}
	for _, id := range suspects {
		_, _, err := partition.ReadStatus(rows{ctx, p.engine.store, p.no}, id)
		if waiting[id] != nil || !errors.Is(err, store.ErrNotFound) {
			continue // accepted, or not known not to be
		}
		p.engine.log.LogAttrs(ctx, slog.LevelInfo, "removing blocks of a submit that never ended",
			slog.Int("partition", p.no), slog.String("bulk_action", string(id)))
		if err := p.engine.store.DeleteBlocks(ctx, p.no, id); err != nil {
			return err
		}
	}
	return nil
}

// unread lists the bulk actions whose message is still in the inbox.
func (p *part) unread(ctx context.Context) (map[weir.BulkID]*partition.Created, error) {
	specs := map[weir.BulkID]*partition.Created{}
	for after := uint64(0); ; {
		brief, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		msgs, err := p.engine.store.Read(brief, p.no, after, 256)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) || err == nil && len(msgs) == 0 {
			return specs, nil // Read waits when there is nothing
		}
		if err != nil {
			return nil, err
		}
		for _, m := range msgs {
			c, err := partition.DecodeCreated(m.Body)
			if err != nil {
				return nil, fmt.Errorf("inbox message %d: %w", m.Seq, err)
			}
			if c != nil {
				specs[c.ID] = c
			}
			after = m.Seq
		}
	}
}
