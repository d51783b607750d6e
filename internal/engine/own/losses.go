package own

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/loss"
	"github.com/weirhq/weir/store"
)

// writeLosses makes what this node knows of losses durable.
func (l *Layout) writeLosses(ctx context.Context) error {
	for {
		raw, m, err := l.Read(ctx)
		switch {
		case err != nil:
			return err
		case m == nil:
			err = l.restore(ctx)
		case l.losses.In(m.Losses):
			return nil
		default:
			err = l.write(ctx, raw, m)
		}
		if err != nil {
			return err
		}
	}
}

// settleLosses looks whether the store has again what it had lost, as after a
// restore of a copy, and makes durable what m lacks.
func (l *Layout) settleLosses(ctx context.Context, m *Map) error {
	for _, x := range l.losses.All() {
		if !x.Open() {
			continue
		}
		last, err := l.store.Last(ctx, x.Partition)
		if err != nil {
			return err
		}
		if last.Number >= x.Acked && last.Number > x.Have {
			l.losses.Close(x.Partition, func(l *loss.Loss) { l.Restored = time.Now().UnixNano() })
		}
	}
	if l.losses.In(m.Losses) {
		return nil
	}
	return l.writeLosses(ctx)
}

// AcceptLoss notes durably that a partition goes on with what is left.
func (l *Layout) AcceptLoss(ctx context.Context, lost *weir.LossError) error {
	l.losses.Stop(lost)
	l.losses.Close(lost.Partition, func(l *loss.Loss) { l.Accepted = time.Now().UnixNano() })
	return l.writeLosses(ctx)
}

// noteStoreLosses notes what the store itself has lost, and was opened without.
func (l *Layout) noteStoreLosses(ctx context.Context) error {
	s, ok := l.store.(store.Lossy)
	if !ok {
		return nil
	}
	for _, x := range s.Losses() {
		if err := l.AcceptLoss(ctx, loss.Error(x.Partition, x.Have, x.Acked)); err != nil {
			return fmt.Errorf("note the losses of the store: %w", err)
		}
	}
	return nil
}

// Lost returns an error that wraps a *[weir.LossError] while a partition is stopped: what is
// not in the store, an idempotency key or an item, may be among what the store lost.
func (l *Layout) Lost(what string) error {
	if x, stopped := l.losses.Any(); stopped {
		return fmt.Errorf("%s is not in the store, and may be among what it lost: %w", what, x.Err())
	}
	return nil
}

// TakesWork returns an error that wraps a *[weir.LossError] if a bulk action must not be
// accepted in a partition: it is stopped, or the idempotency key may have been
// lost. One that has the claim already was accepted before, and is found by it.
func (l *Layout) TakesWork(ctx context.Context, p int, claim string, keyed bool) error {
	var refused error
	if x, stopped := l.losses.Of(p); stopped {
		refused = x.Err()
	} else if keyed {
		refused = l.Lost("the idempotency key")
	}
	if refused == nil || claim == "" {
		return refused
	}
	_, err := l.store.Claimed(ctx, p, claim)
	if errors.Is(err, store.ErrNotFound) {
		return refused
	}
	return err
}
