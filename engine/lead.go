package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/weirhq/weir/store"
)

// lead has this node try to be the leader until ctx ends. The leader is the owner
// of [store.Control]: it takes old notices down and sets the targets of quotas.
// Its death changes nothing but that.
func (e *Engine) lead(ctx context.Context) {
	for ctx.Err() == nil {
		news := e.fleet.news.rung()
		tok, err := e.store.Acquire(ctx, store.Control, e.node, e.opts.LeaseFor)
		switch {
		case err == nil:
			e.log.LogAttrs(ctx, slog.LevelInfo, "this node leads", slog.String("node", e.node))
			e.reign(ctx, tok)
			continue
		case errors.Is(err, store.ErrClosed):
			return
		case ctx.Err() == nil && !errors.Is(err, store.ErrHeld):
			e.log.LogAttrs(ctx, slog.LevelWarn, "leader's lease not asked for, will ask again", slog.Any("error", err))
			sleep(ctx, retryEvery)
		}
		pause(ctx, e.opts.LeaseFor/4, news)
	}
}

// reign is the leader's time: until ctx ends or the lease is lost.
func (e *Engine) reign(ctx context.Context, tok store.Token) {
	ctx, abdicate := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.allot(ctx, tok.Epoch)
	}()
	for renewed := time.Now(); ; {
		pause(ctx, e.opts.LeaseFor/3, nil)
		if ctx.Err() != nil {
			break
		}
		asked := time.Now()
		err := e.store.Renew(ctx, store.Control, tok, e.opts.LeaseFor)
		if err == nil {
			renewed = asked
			e.clearBoard(ctx, tok)
			continue
		}
		if errors.Is(err, store.ErrFenced) || time.Since(renewed) >= e.opts.LeaseFor-e.opts.LeaseFor/3 {
			break
		}
	}
	abdicate()
	<-done
	over := context.WithoutCancel(ctx)
	if e.store.Release(over, store.Control, tok) == nil {
		e.tell(over, "abdicated", 0)
	}
}

// clearBoard takes down the notices that all nodes have had a lease's time to read.
func (e *Engine) clearBoard(ctx context.Context, tok store.Token) {
	old := e.fleet.old
	e.fleet.old = e.fleet.seen.Load()
	if old == 0 || old == e.fleet.cleared {
		return
	}
	last, err := e.store.Last(ctx, store.Control)
	if err == nil {
		err = e.store.Commit(ctx, store.Control, tok, &store.Batch{Number: last.Number + 1, Ack: old})
	}
	if err != nil {
		e.log.LogAttrs(ctx, slog.LevelWarn, "old notices stay up", slog.Any("error", err))
		return
	}
	e.fleet.cleared = old
}

// pause waits for d, for news, or for the end of ctx.
func pause(ctx context.Context, d time.Duration, news <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-news:
	case <-ctx.Done():
	}
}
