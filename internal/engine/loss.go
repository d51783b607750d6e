package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store"
)

// storedLoss is a loss as the map of partitions keeps it. Times are nanoseconds.
type storedLoss struct {
	Partition int    `json:"partition"`
	Have      uint64 `json:"have"`
	Acked     uint64 `json:"acked"`
	Found     int64  `json:"found"`
	Accepted  int64  `json:"accepted,omitempty"`
	Restored  int64  `json:"restored,omitempty"` // the store had everything again
}

func (l storedLoss) open() bool { return l.Accepted == 0 && l.Restored == 0 }

func (l storedLoss) same(o storedLoss) bool { return l.Partition == o.Partition && l.Found == o.Found }

func (l storedLoss) error() *weir.LossError {
	return lossError(l.Partition, l.Have, l.Acked)
}

func lossError(partition int, have, acked uint64) *weir.LossError {
	return &weir.LossError{Partition: partition, Have: have, Acked: acked, Err: store.ErrCorrupt}
}

func (l storedLoss) public() weir.Loss {
	p := weir.Loss{Partition: l.Partition, Have: l.Have, Acked: l.Acked, Found: moment(l.Found)}
	if l.Accepted != 0 {
		p.Accepted = moment(l.Accepted)
	}
	return p
}

// join adds what one list of losses knows to another. Nothing is ever taken back, so the order of joins does not matter.
func join(list, more []storedLoss) []storedLoss {
	list = slices.Clone(list)
	for _, l := range more {
		i := slices.IndexFunc(list, l.same)
		if i < 0 {
			list = append(list, l)
			continue
		}
		list[i].Accepted, list[i].Restored = max(list[i].Accepted, l.Accepted), max(list[i].Restored, l.Restored)
	}
	slices.SortFunc(list, func(a, b storedLoss) int {
		return cmp.Or(cmp.Compare(a.Found, b.Found), a.Partition-b.Partition)
	})
	return trimLosses(list)
}

// mostLosses is how many losses that are over are remembered.
const mostLosses = 1024

func trimLosses(list []storedLoss) []storedLoss {
	for n := len(list) - mostLosses; n > 0; n-- {
		i := slices.IndexFunc(list, func(l storedLoss) bool { return !l.open() })
		if i < 0 {
			break
		}
		list = slices.Delete(list, i, i+1)
	}
	return list
}

// lossBook is what this node knows of losses.
type lossBook struct {
	mu   sync.Mutex
	list []storedLoss // oldest first
}

func (b *lossBook) all() []storedLoss {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.list)
}

// learn adds losses, and returns the partitions whose loss is accepted as of now.
func (b *lossBook) learn(more []storedLoss) (accepted []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.list
	b.list = join(known, more)
	for _, l := range b.list {
		i := slices.IndexFunc(known, l.same)
		if l.Accepted != 0 && (i < 0 || known[i].Accepted == 0) {
			accepted = append(accepted, l.Partition)
		}
	}
	return accepted
}

// of returns the loss for which a partition is stopped.
func (b *lossBook) of(partition int) (storedLoss, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.list, func(l storedLoss) bool { return l.Partition == partition && l.open() })
	if i < 0 {
		return storedLoss{}, false
	}
	return b.list[i], true
}

// without returns those of the partitions that are not stopped.
func (b *lossBook) without(partitions []int) []int {
	return slices.DeleteFunc(partitions, func(p int) bool {
		_, stopped := b.of(p)
		return stopped
	})
}

// any returns a loss for which a partition is stopped.
func (b *lossBook) any() (storedLoss, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.list, storedLoss.open)
	if i < 0 {
		return storedLoss{}, false
	}
	return b.list[i], true
}

// stop notes a loss, unless the partition is stopped already.
func (b *lossBook) stop(e *weir.LossError) {
	if _, stopped := b.of(e.Partition); !stopped {
		b.learn([]storedLoss{{Partition: e.Partition, Have: e.Have, Acked: e.Acked, Found: time.Now().UnixNano()}})
	}
}

// close ends the stop of a partition by what change sets.
func (b *lossBook) close(partition int, change func(*storedLoss)) {
	if l, stopped := b.of(partition); stopped {
		change(&l)
		b.learn([]storedLoss{l})
	}
}

// in reports whether a map has everything that this node knows.
func (b *lossBook) in(m *partitionMap) bool { return slices.Equal(m.Losses, b.all()) }

// writeLosses makes what this node knows of losses durable.
func (e *Engine) writeLosses(ctx context.Context) error {
	for {
		raw, m, err := e.readLayout(ctx)
		switch {
		case err != nil:
			return err
		case m == nil:
			err = e.restoreLayout(ctx)
		case e.losses.in(m):
			return nil
		default:
			err = e.writeLayout(ctx, raw, m)
		}
		if err != nil {
			return err
		}
	}
}

// settleLosses looks whether the store has again what it had lost, as after a
// restore of a copy, and makes durable what m lacks.
func (e *Engine) settleLosses(ctx context.Context, m *partitionMap) error {
	for _, l := range e.losses.all() {
		if !l.open() {
			continue
		}
		last, err := e.store.Last(ctx, l.Partition)
		if err != nil {
			return err
		}
		if last.Number >= l.Acked && last.Number > l.Have {
			e.losses.close(l.Partition, func(l *storedLoss) { l.Restored = time.Now().UnixNano() })
		}
	}
	if e.losses.in(m) {
		return nil
	}
	return e.writeLosses(ctx)
}

// acceptLoss notes durably that a partition goes on with what is left.
func (e *Engine) acceptLoss(ctx context.Context, loss *weir.LossError) error {
	e.losses.stop(loss)
	e.losses.close(loss.Partition, func(l *storedLoss) { l.Accepted = time.Now().UnixNano() })
	return e.writeLosses(ctx)
}

// noteStoreLosses notes what the store itself has lost, and was opened without.
func (e *Engine) noteStoreLosses(ctx context.Context) error {
	s, ok := e.store.(store.Lossy)
	if !ok {
		return nil
	}
	for _, l := range s.Losses() {
		if err := e.acceptLoss(ctx, lossError(l.Partition, l.Have, l.Acked)); err != nil {
			return fmt.Errorf("note the losses of the store: %w", err)
		}
	}
	return nil
}

// Lost returns an error that wraps a *[weir.LossError] while a partition is stopped: what is
// not in the store, an idempotency key or an item, may be among what the store lost.
func (e *Engine) Lost(what string) error {
	if l, stopped := e.losses.any(); stopped {
		return fmt.Errorf("%s is not in the store, and may be among what it lost: %w", what, l.error())
	}
	return nil
}

// takesWork returns an error that wraps a *[weir.LossError] if a bulk action must not be
// accepted in a partition: it is stopped, or the idempotency key may have been
// lost. One that has the claim already was accepted before, and is found by it.
func (e *Engine) takesWork(ctx context.Context, p int, claim string, keyed bool) error {
	var refused error
	if l, stopped := e.losses.of(p); stopped {
		refused = l.error()
	} else if keyed {
		refused = e.Lost("the idempotency key")
	}
	if refused == nil || claim == "" {
		return refused
	}
	_, err := e.store.Claimed(ctx, p, claim)
	if errors.Is(err, store.ErrNotFound) {
		return refused
	}
	return err
}

// Losses lists the losses of all partitions that the store remembers, oldest first.
func (o *Operator) Losses(ctx context.Context) ([]weir.Loss, error) {
	raw, err := o.store.Lookup(ctx, layoutName)
	if err != nil {
		return nil, err
	}
	m, err := parseMap(raw)
	if err != nil {
		return nil, err
	}
	return public(m.Losses), nil
}

func public(list []storedLoss) (out []weir.Loss) {
	for _, l := range list {
		if l.Restored == 0 {
			out = append(out, l.public())
		}
	}
	return out
}

// Losses lists the losses that concern the bulk action, as of when this handle was
// made: it was there before the store lost work of one of its partitions, and had not
// ended. Items of it may have been run again, and results may be missing.
func (b *BulkAction) Losses() (out []weir.Loss) {
	for _, l := range b.engine.losses.all() {
		if l.Restored == 0 && b.livesIn(l.Partition) && b.spec.Submitted < l.Found && !b.endedBefore(l.Found) {
			out = append(out, l.public())
		}
	}
	return out
}

// reportLosses is Losses as reports have them.
func (b *BulkAction) reportLosses() (out []report.Loss) {
	for _, l := range b.Losses() {
		r := report.Loss{Partition: l.Partition, Have: l.Have, Acked: l.Acked, FoundAt: l.Found}
		if !l.Accepted.IsZero() {
			r.AcceptedAt = &l.Accepted
		}
		out = append(out, r)
	}
	return out
}

func (b *BulkAction) livesIn(partition int) bool {
	return partition == b.partition || slices.Contains(b.spec.Shards, partition)
}

func (b *BulkAction) endedBefore(t int64) bool {
	return b.status != nil && b.status.Finished != 0 && b.status.Finished < t
}

// missing is why there is nothing of an id.
func (e *Engine) missing(p int, id weir.BulkID) error {
	for _, l := range slices.Backward(e.losses.all()) {
		if l.Partition == p && l.Restored == 0 && submitBegan(id).UnixNano() < l.Found {
			return &weir.LostError{ID: id, Loss: l.public()}
		}
	}
	return fmt.Errorf("bulk action %s: %w", id, weir.ErrNotFound)
}
