package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// commit makes a batch durable, however long the store takes, and tells the
// loop. It runs beside the loop; there is one at a time. ctx ends only when
// the caller no longer waits for the answer.
func (p *part) commit(ctx context.Context, b *store.Batch) {
	for try := 0; ; try++ {
		err := p.timedCommit(ctx, b)
		if lost := p.lost(err); lost != nil {
			p.mail.put(input{err: lost})
			return
		}
		switch partition.AfterCommit(err) {
		case partition.Written:
			p.mail.put(input{committed: true})
			return
		case partition.Dropped:
			p.mail.put(input{err: fmt.Errorf("partition %d, commit %d: %w", p.no, b.Number, store.ErrFenced)})
			return
		case partition.Again:
			if try == 0 {
				p.mail.put(input{stalled: true})
			}
		}
		if sleep(ctx, retryEvery); ctx.Err() != nil {
			return
		}
	}
}

// tryCommit asks the store once. A store that lacks earlier commits, because it
// was set back, gets them again first.
func (p *part) tryCommit(ctx context.Context, b *store.Batch) error {
	e := p.engine
	if !e.remembers() {
		return p.complain(ctx, b, e.store.Commit(ctx, p.no, p.token, b))
	}
	past := &e.past.parts[p.no]
	past.writing.Lock()
	defer past.writing.Unlock()
	now := time.Now()
	e.past.remember(now, p.no, b, p.token)
	err := e.store.Commit(ctx, p.no, p.token, b)
	if behind(err) {
		_, err = p.mend(ctx) // b is among what is put back
	}
	if partition.AfterCommit(err) == partition.Written {
		e.past.confirm(now, p.no, b.Number)
	}
	return p.complain(ctx, b, err)
}

func (p *part) complain(ctx context.Context, b *store.Batch, err error) error {
	if err != nil && !errors.Is(err, store.ErrFenced) {
		p.engine.log.LogAttrs(ctx, slog.LevelWarn, "commit failed, will ask again",
			slog.Int("partition", p.no), slog.Uint64("number", b.Number), slog.Any("error", err))
	}
	return err
}
