package own

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// Lead has this node try to be the leader until ctx ends. The leader is the owner
// of [store.Control]: it takes old notices down, and does work, until it leads no more.
// Its death changes nothing but that.
func (f *Fleet) Lead(ctx context.Context, work func(context.Context, *Leader)) {
	for ctx.Err() == nil {
		news := f.News.Rung()
		tok, err := f.takeLead(ctx)
		switch {
		case err == nil:
			f.log.LogAttrs(ctx, slog.LevelInfo, "this node leads", slog.String("node", f.node))
			f.leads.Store(true)
			f.leadWith(ctx, &Leader{store: f.store, token: tok}, work)
			f.leads.Store(false)
			continue
		case errors.Is(err, store.ErrClosed):
			return
		case ctx.Err() == nil && !errors.Is(err, store.ErrHeld):
			f.log.LogAttrs(ctx, slog.LevelWarn, "leader's lease not asked for, will ask again", slog.Any("error", err))
			Pause(ctx, retryEvery, nil)
		}
		f.waitToLead(ctx, news)
	}
}

// waitToLead waits until the leader's lease may be free. While a live node says that it leads, the store is hardly asked.
func (f *Fleet) waitToLead(ctx context.Context, news <-chan struct{}) {
	for range 4 {
		if !Pause(ctx, f.leaseFor/4, news) || !f.led() {
			return
		}
	}
}

// Leads reports whether this node leads.
func (f *Fleet) Leads() bool { return f.leads.Load() }

// takeLead asks for the leader's lease. A leader remembers nothing that the store may have lost: it has no precedence.
func (f *Fleet) takeLead(ctx context.Context) (store.Token, error) {
	if w, ok := f.store.(store.Witness); ok {
		return w.Reclaim(ctx, store.Control, f.node, f.leaseFor)
	}
	return f.store.Acquire(ctx, store.Control, f.node, f.leaseFor)
}

// Leader is this node while it leads.
type Leader struct {
	store leading
	token store.Token
	mu    sync.Mutex // one commit at a time
}

// leading is what a leader needs of a store.
type leading interface {
	store.State
	store.Leases
}

// Epoch numbers leaders: a newer one has a higher number.
func (l *Leader) Epoch() uint64 { return l.token.Epoch }

// Rows reads the control partition.
func (l *Leader) Rows(ctx context.Context) stored.Rows { return stored.At(ctx, l.store, store.Control) }

// Commit writes to the control partition, unless another node leads.
func (l *Leader) Commit(ctx context.Context, b *store.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, err := l.store.Last(ctx, store.Control)
	if err != nil {
		return err
	}
	b.Number = last.Number + 1
	return l.store.Commit(ctx, store.Control, l.token, b)
}

// leadWith has the leader's work done until ctx ends or the lease is lost.
func (f *Fleet) leadWith(ctx context.Context, l *Leader, work func(context.Context, *Leader)) {
	ctx, stepDown := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { work(ctx, l) })
	for renewed := time.Now(); ; {
		Pause(ctx, untilNext(f.leaseFor/3), nil) // with the leases of partitions
		if ctx.Err() != nil {
			break
		}
		asked := time.Now()
		_, err := l.store.Renew(ctx, store.Control, l.token, f.leaseFor)
		if err == nil {
			renewed = asked
			f.clearBoard(ctx, l)
			continue
		}
		if errors.Is(err, store.ErrFenced) || time.Since(renewed) >= f.leaseFor-f.leaseFor/3 {
			break
		}
	}
	stepDown()
	done.Wait()
	over := context.WithoutCancel(ctx)
	if l.store.Release(over, store.Control, l.token) == nil {
		f.Tell(over, "stepped down", 0)
	}
}

// clearBoard takes down the notices that all nodes have had a lease's time to read.
func (f *Fleet) clearBoard(ctx context.Context, l *Leader) {
	old := f.old
	f.old = f.seen.Load()
	if old == 0 || old == f.cleared {
		return
	}
	if err := l.Commit(ctx, &store.Batch{Ack: old}); err != nil {
		f.log.LogAttrs(ctx, slog.LevelWarn, "old notices stay up", slog.Any("error", err))
		return
	}
	f.cleared = old
}
