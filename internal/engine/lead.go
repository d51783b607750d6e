package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir/store"
)

// lead has this node try to be the leader until ctx ends. The leader is the owner
// of [store.Control]: it takes old notices down, sets the targets of quotas
// and decides how many workers each lane has.
// Its death changes nothing but that.
func (e *Engine) lead(ctx context.Context) {
	for ctx.Err() == nil {
		news := e.fleet.news.rung()
		tok, err := e.takeLead(ctx)
		switch {
		case err == nil:
			e.log.LogAttrs(ctx, slog.LevelInfo, "this node leads", slog.String("node", e.node))
			e.leads.Store(true)
			e.leadWith(ctx, tok)
			e.leads.Store(false)
			e.plan.Store(nil)
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

// takeLead asks for the leader's lease. A leader remembers nothing that the store may have lost: it has no precedence.
func (e *Engine) takeLead(ctx context.Context) (store.Token, error) {
	if w, ok := e.witness(); ok {
		return w.Reclaim(ctx, store.Control, e.node, e.opts.LeaseFor)
	}
	return e.store.Acquire(ctx, store.Control, e.node, e.opts.LeaseFor)
}

// leader is this node while it leads.
type leader struct {
	engine *Engine
	tok    store.Token
	mu     sync.Mutex // one commit at a time
}

// commit writes to the control partition, unless another node leads.
func (l *leader) commit(ctx context.Context, b *store.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, err := l.engine.store.Last(ctx, store.Control)
	if err != nil {
		return err
	}
	b.Number = last.Number + 1
	return l.engine.store.Commit(ctx, store.Control, l.tok, b)
}

// leadWith does the work of the leader until ctx ends or the lease is lost.
func (e *Engine) leadWith(ctx context.Context, tok store.Token) {
	ctx, abdicate := context.WithCancel(ctx)
	l := &leader{engine: e, tok: tok}
	var work sync.WaitGroup
	work.Go(func() { e.allot(ctx, tok.Epoch) })
	work.Go(func() { e.coordinate(ctx, l) })
	for renewed := time.Now(); ; {
		pause(ctx, e.opts.LeaseFor/3, nil)
		if ctx.Err() != nil {
			break
		}
		asked := time.Now()
		err := e.store.Renew(ctx, store.Control, tok, e.opts.LeaseFor)
		if err == nil {
			renewed = asked
			e.clearBoard(ctx, l)
			continue
		}
		if errors.Is(err, store.ErrFenced) || time.Since(renewed) >= e.opts.LeaseFor-e.opts.LeaseFor/3 {
			break
		}
	}
	abdicate()
	work.Wait()
	over := context.WithoutCancel(ctx)
	if e.store.Release(over, store.Control, tok) == nil {
		e.tell(over, "abdicated", 0)
	}
}

// clearBoard takes down the notices that all nodes have had a lease's time to read.
func (e *Engine) clearBoard(ctx context.Context, l *leader) {
	old := e.fleet.old
	e.fleet.old = e.fleet.seen.Load()
	if old == 0 || old == e.fleet.cleared {
		return
	}
	if err := l.commit(ctx, &store.Batch{Ack: old}); err != nil {
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
