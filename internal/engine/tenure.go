package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/retention"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// own takes the partition's lease, loads what is there, runs the loop until ctx
// ends, and hands the partition over.
func (p *part) own(ctx context.Context) error {
	stop := context.WithoutCancel(ctx)
	defer p.HandOver(stop)
	if err := p.Acquire(ctx); err != nil {
		return err
	}
	e := p.engine
	if err := p.loadAgain(ctx); err != nil {
		return err
	}
	e.parts.running[p.no].Store(p)
	p.mail.put(input{reach: true})
	p.Serve()
	e.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "partition taken", slog.Int("partition", p.no),
		slog.Int64("pending", p.Pending.Load()))
	p.logDeath(ctx)
	beside, cancel := context.WithCancel(stop)
	over, behind := make(chan struct{}), make(chime, 1)
	var wg sync.WaitGroup
	wg.Go(func() { p.readInbox(beside) })
	wg.Go(func() {
		if err := p.Keep(beside, func() { p.mail.put(input{renewed: true}) }, behind.ring); err != nil {
			p.mail.put(input{err: err})
		}
	})
	wg.Go(func() { p.keepPast(beside, behind) })
	wg.Go(func() { p.retain(beside) })
	wg.Go(func() { p.drain(ctx, over) })
	writing, drop := context.WithCancel(stop) // a stop waits for what is being written
	e.parts.trials.join(p)
	err := p.loop(ctx, writing)
	e.parts.trials.leave(p)
	e.counts.Add(&p.counter)
	if errors.Is(err, store.ErrFenced) {
		e.counts.LeasesLost.Add(1)
	}
	drop()
	p.commits.Wait()
	close(over)
	cancel()
	wg.Wait()
	e.parts.running[p.no].Store(nil)
	p.Leave(err)
	p.machine.Leave(time.Now().UnixNano())
	p.abandonAll()
	e.intake.Add(-p.Pending.Swap(0))
	e.intake.Left(p.no)
	return err
}

// logDeath says what follows from the death of the owner before.
func (p *part) logDeath(ctx context.Context) {
	if n := p.machine.Suspects(); p.machine.Crashed() && n > 0 {
		p.engine.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "process of the former owner ended while marked items ran; they "+
			"run again one task at a time",
			slog.Int("partition", p.no), slog.Int("items", n))
	}
	for _, g := range p.machine.Guilty() {
		p.engine.opts.Logger.LogAttrs(ctx, slog.LevelError, "item failed: its process ended each time it ran",
			slog.Int("partition", p.no), slog.String("bulk", string(g.Bulk)), slog.String("step", g.Step), slog.Int64("item", g.Item),
			slog.String("code", partition.CodeCrashedNode))
	}
}

// loadAgain loads the partition, however long the store takes to answer, while
// the lease lasts.
func (p *part) loadAgain(ctx context.Context) error {
	for {
		err := p.load(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case own.Permanent(err) || !p.engine.shared():
			return fmt.Errorf("load partition %d: %w", p.no, err)
		}
		p.engine.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "partition not loaded, will ask again",
			slog.Int("partition", p.no), slog.Any("error", err))
		sleep(ctx, retryEvery)
		if err := p.Extend(ctx); errors.Is(err, store.ErrFenced) {
			return fmt.Errorf("partition %d: %w", p.no, err)
		}
	}
}

// load reads the unfinished bulk actions, and removes the blocks of submits that never came to an end.
func (p *part) load(ctx context.Context) error {
	if err := p.engine.past.Repair(ctx, p, p.settle); err != nil {
		return err
	}
	last, err := p.engine.store.Last(ctx, p.no)
	if err != nil {
		return err
	}
	if err := p.engine.waitForFormerOf(ctx, p.no); err != nil {
		return err
	}
	state, now := stored.At(ctx, p.engine.store, p.no), time.Now().UnixNano()
	p.machine = partition.New(p.config(), last.Number)
	err = p.engine.parts.loading.Load(p.machine, now, state, p.engine.shared())
	if err == nil {
		err = p.sweep(ctx)
	}
	if err != nil {
		p.machine.Leave(now)
		return err
	}
	p.counter.Begin(now, p.machine)
	p.count(p.machine.Pending())
	return nil
}

// settle decides whether the partition goes on after a repair, which may have found a loss.
func (p *part) settle(ctx context.Context, err error) error {
	e := p.engine
	if l, stopped := e.losses.Of(p.no); stopped && err == nil {
		err = l.Err()
	}
	if lost, ok := errors.AsType[*weir.LossError](err); ok && e.opts.AcceptLoss {
		e.opts.Logger.LogAttrs(ctx, slog.LevelError, "acknowledged work is lost, going on without it as told",
			slog.Int("partition", p.no), slog.Uint64("have", lost.Have), slog.Uint64("acked", lost.Acked))
		err = e.layout.AcceptLoss(ctx, lost)
	}
	return err
}

// count changes the number of items of this partition that have not ended.
func (p *part) count(items int64) {
	p.Pending.Add(items)
	p.engine.intake.Add(items)
}

// drain tells the loop to stop when ctx ends, and gives up on tasks that take
// longer than DrainFor, and then on a store that does not answer.
func (p *part) drain(ctx context.Context, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-ctx.Done():
	}
	p.mail.put(input{stop: true})
	late := time.NewTimer(p.engine.opts.DrainFor)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
		p.mail.put(input{abandon: true})
	}
	late.Reset(p.engine.opts.LeaseFor)
	select {
	case <-over:
	case <-late.C:
		p.mail.put(input{err: fmt.Errorf("partition %d: the store did not answer in time; what it did not take is run again "+
			"after the next start", p.no)})
	}
}

// retain removes what is over until ctx ends.
func (p *part) retain(ctx context.Context) {
	e := p.engine
	k := retention.Keeper{Store: e.store, Partition: p.no, KeepFor: e.opts.KeepFor, Log: e.opts.Logger, Codec: e.codec,
		Turn: e.parts.joining, Commit: p.remove}
	k.Run(ctx)
}

// remove has the loop commit a removal, and waits until it is durable. One at a time is under way.
func (p *part) remove(ctx context.Context, r *partition.Removal) error {
	p.mail.put(input{remove: r})
	select {
	case <-p.removed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sweep removes blocks that nothing needs, before the loop runs.
func (p *part) sweep(ctx context.Context) error {
	e := p.engine
	s := retention.Sweep{
		Store: e.store, Shared: e.shared(), Partition: p.no, Log: e.opts.Logger,
		Loaded: p.machine.Has, UnderWay: e.intake.UnderWay, Drafts: e.opts.Drafts,
	}
	return s.Run(ctx)
}
