package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// commit makes a batch durable, however long the store takes, and tells the
// loop. It runs beside the loop; there is one at a time. ctx ends only when
// the caller no longer waits for the answer.
func (p *part) commit(ctx context.Context, b *store.Batch) {
	for try := 0; ; try++ {
		began := time.Now()
		err := p.complain(ctx, b, p.engine.past.Commit(ctx, p, b))
		p.engine.counts.Committed(time.Since(began))
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

func (p *part) complain(ctx context.Context, b *store.Batch, err error) error {
	if err != nil && !errors.Is(err, store.ErrFenced) {
		p.engine.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "commit failed, will ask again",
			slog.Int("partition", p.no), slog.Uint64("number", b.Number), slog.Any("error", err))
	}
	return err
}

// lost is what a loss means for a partition that runs: it stops, or begins again
// with what is left. nil for all other errors.
func (p *part) lost(err error) error {
	var lost *weir.LossError
	switch {
	case !errors.As(err, &lost):
		return nil
	case p.engine.opts.AcceptLoss:
		return fmt.Errorf("%w: beginning again with what is left: %w", store.ErrFenced, errors.New(lost.Error()))
	}
	return lost
}

// chime holds one signal that something is to be done.
type chime chan struct{}

func (c chime) ring() {
	select {
	case c <- struct{}{}:
	default:
	}
}

// keepPast puts back what the store has lost whenever a renewal of the lease has shown that it lacks something.
func (p *part) keepPast(ctx context.Context, behind chime) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-behind:
		}
		if lost := p.lost(p.engine.past.PutBack(ctx, p)); lost != nil {
			p.mail.put(input{err: lost})
		}
	}
}
