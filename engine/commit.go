package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/store"
)

// commit makes a batch durable, however long the store takes, and tells the
// loop. It runs beside the loop; there is one at a time. ctx ends only when
// nobody waits for the answer any more.
func (p *part) commit(ctx context.Context, b *store.Batch) {
	verdict := partition.AfterCommit(p.tryCommit(ctx, b))
	for verdict == partition.Again {
		if sleep(ctx, retryEvery); ctx.Err() != nil {
			return
		}
		verdict = partition.AfterCommit(p.tryCommit(ctx, b))
	}
	if verdict == partition.Dropped {
		p.mail.put(input{err: fmt.Errorf("partition %d, commit %d: %w", p.no, b.Number, store.ErrFenced)})
		return
	}
	p.mail.put(input{committed: true})
}

func (p *part) tryCommit(ctx context.Context, b *store.Batch) error {
	err := p.engine.store.Commit(ctx, p.no, p.token, b)
	if err != nil && !errors.Is(err, store.ErrFenced) {
		p.engine.log.LogAttrs(ctx, slog.LevelWarn, "commit failed, will ask again",
			slog.Int("partition", p.no), slog.Uint64("number", b.Number), slog.Any("error", err))
	}
	return err
}
