package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// Regressions counts how often the store was found to hold less than it had acknowledged.
func (e *Engine) Regressions() int64 { return e.past.regressions.Load() }

// repair puts back what the store has lost of this process' commits to the
// partition, which has just been acquired and is not loaded yet. If that cannot
// be done it returns a *[weir.LossError], unless losses are accepted.
func (p *part) repair(ctx context.Context) error {
	e := p.engine
	if !e.remembers() {
		return nil
	}
	past := &e.past.parts[p.no]
	past.writing.Lock()
	defer past.writing.Unlock()
	ctx, cancel := outlast(ctx, e.opts.LeaseFor) // half of it would be whole for the next owner
	defer cancel()
	last, err := p.mend(ctx)
	if l, stopped := e.losses.of(p.no); stopped && err == nil {
		err = l.error()
	}
	if loss, ok := errors.AsType[*weir.LossError](err); ok && e.opts.AcceptLoss {
		e.log.LogAttrs(ctx, slog.LevelError, "acknowledged work is lost, going on without it as told",
			slog.Int("partition", p.no), slog.Uint64("have", loss.Have), slog.Uint64("acked", loss.Acked))
		err = e.acceptLoss(ctx, loss)
	}
	if err != nil {
		return err
	}
	e.past.with(p.no, func(w *window) { w.open(last) })
	return nil
}

// outlast is a context that ends some time after ctx does.
func outlast(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		sleep(longer, by)
		cancel()
	})
	return longer, func() { stop(); cancel() }
}

// keepPast looks from time to time whether the store still has what it
// acknowledged: a partition in which nothing happens would not notice.
func (p *part) keepPast(ctx context.Context) {
	if !p.engine.remembers() {
		return
	}
	for ctx.Err() == nil {
		sleep(ctx, p.engine.opts.LeaseFor/3)
		p.lookBack(ctx)
	}
}

// lookBack puts back what the store has lost.
func (p *part) lookBack(ctx context.Context) {
	e := p.engine
	acked := e.past.acked(p.no) // before the look: what is acknowledged after it may not be there yet
	last, err := e.store.Last(ctx, p.no)
	switch {
	case err != nil:
		return // what does not answer is asked again
	case last.Number >= acked:
		e.past.age(p.no, time.Now())
		return
	}
	past := &e.past.parts[p.no]
	past.writing.Lock()
	defer past.writing.Unlock()
	_, err = p.mend(ctx)
	if lost := p.lost(err); lost != nil {
		p.mail.put(input{err: lost})
	}
}

// lost is what a loss means for a partition that runs: it stops, or begins again
// with what is left. nil for all other errors.
func (p *part) lost(err error) error {
	var loss *weir.LossError
	switch {
	case !errors.As(err, &loss):
		return nil
	case p.engine.opts.AcceptLoss:
		return fmt.Errorf("%w: beginning again with what is left: %w", store.ErrFenced, errors.New(loss.Error()))
	}
	return loss
}

// mend puts back what the store lacks, with the partition's token, and returns
// the last commit that is there now. The caller holds the lock for writing.
func (p *part) mend(ctx context.Context) (store.Last, error) {
	e := p.engine
	last, err := e.store.Last(ctx, p.no)
	if err != nil {
		return last, err
	}
	var missing []keptCommit
	var acked uint64
	whole := true
	e.past.with(p.no, func(w *window) {
		missing, whole = w.missing(last)
		missing, acked = slices.Clone(missing), w.acked // what is kept may be trimmed meanwhile
	})
	if !whole {
		e.past.regressions.Add(1)
		return last, lossError(p.no, last.Number, acked)
	}
	if len(missing) == 0 {
		return last, nil
	}
	e.past.regressions.Add(1)
	e.log.LogAttrs(ctx, slog.LevelWarn, "the store was set back, putting back what it lost",
		slog.Int("partition", p.no), slog.Uint64("have", last.Number), slog.Uint64("acked", acked), slog.Int("commits", len(missing)))
	return p.replay(ctx, missing)
}

// replay commits what the store has lost, and keeps the lease meanwhile. A failure in between leaves what is there:
// the next try goes on from it.
func (p *part) replay(ctx context.Context, missing []keptCommit) (last store.Last, err error) {
	e := p.engine
	every := e.opts.LeaseFor / 3
	renewed := time.Now()
	for _, k := range missing {
		if asked := time.Now(); asked.Sub(renewed) > every && p.renew(ctx, every) == nil {
			p.believe(asked)
			renewed = asked
		}
		number := k.batch.Number
		e.past.with(p.no, func(w *window) { w.restore(number, p.token) }) // before the try: it may be written although no answer comes
		err := e.store.Commit(ctx, p.no, p.token, k.batch)
		if partition.AfterCommit(err) != partition.Written {
			return last, fmt.Errorf("put back commit %d of partition %d: %w", number, p.no, err)
		}
		e.past.with(p.no, func(w *window) { w.ack(number) })
		last = store.Last{Number: number, By: p.token}
	}
	return last, nil
}

// behind reports whether a commit was refused because the store lacks earlier ones.
func behind(err error) bool {
	var order *store.NumberError
	return errors.As(err, &order) && order.Want < order.Got
}

// whole checks that what was not found in a partition is truly not there: a
// store that was set back lacks it until its owner has put it back.
func (e *Engine) whole(ctx context.Context, partition int) error {
	if !e.remembers() {
		return nil
	}
	acked := e.past.acked(partition)
	last, err := e.store.Last(ctx, partition)
	if err == nil && last.Number < acked {
		err = fmt.Errorf("partition %d: the store was set back to commit %d of %d", partition, last.Number, acked)
	}
	return err
}
