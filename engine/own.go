package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/store"
)

// own takes the partition's lease, loads what is there, runs the loop, and hands the partition over.
func (p *part) own(ctx context.Context) error {
	if err := p.acquire(ctx); err != nil {
		return err
	}
	stop := context.WithoutCancel(ctx)
	defer func() { _ = p.engine.store.Release(stop, p.no, p.token) }() // the lease runs out anyway
	if err := p.load(ctx); err != nil {
		return fmt.Errorf("load partition %d: %w", p.no, err)
	}
	beside, cancel := context.WithCancel(stop)
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { p.readInbox(beside) })
	wg.Go(func() { p.keepLease(beside) })
	wg.Go(func() { p.drain(ctx, over) })
	writing, drop := context.WithCancel(stop) // a stop waits for what is being written
	err := p.loop(ctx, writing)
	drop()
	p.commits.Wait()
	close(over)
	cancel()
	wg.Wait()
	p.abandonAll()
	p.engine.share.leave(time.Now().UnixNano(), p.no)
	return err
}

// acquire waits for the lease: its last holder may have died with it.
func (p *part) acquire(ctx context.Context) error {
	for {
		tok, err := p.engine.store.Acquire(ctx, p.no, p.engine.node, p.engine.opts.LeaseFor)
		switch {
		case err == nil:
			p.token = tok
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, store.ErrHeld):
			return fmt.Errorf("acquire partition %d: %w", p.no, err)
		}
		sleep(ctx, p.engine.opts.LeaseFor/10)
	}
}

// load reads the unfinished bulk actions, and removes the blocks of submits that never came to an end.
func (p *part) load(ctx context.Context) error {
	number, err := p.engine.store.Number(ctx, p.no)
	if err != nil {
		return err
	}
	state, now := rows{ctx, p.engine.store, p.no}, time.Now().UnixNano()
	last, err := partition.LastStart(state, now)
	if err != nil {
		return err
	}
	p.engine.share.former(last)
	p.machine = partition.New(p.config(), number)
	if err := p.machine.Load(now, state); err != nil {
		return err
	}
	p.engine.pending.Add(p.machine.Pending())
	return p.sweep(ctx)
}

// keepLease renews at a third of the lease's time. An owner that cannot be sure
// of its lease starts nothing.
func (p *part) keepLease(ctx context.Context) {
	every := p.engine.opts.LeaseFor / 3
	renewed, doubted := time.Now(), false
	for {
		sleep(ctx, every)
		if ctx.Err() != nil {
			return
		}
		asked := time.Now()
		err := p.renew(ctx, every)
		switch {
		case err == nil:
			renewed = asked
			if doubted {
				p.mail.put(input{sure: true})
			}
			doubted = false
		case errors.Is(err, store.ErrFenced):
			p.mail.put(input{err: fmt.Errorf("partition %d: renew lease: %w", p.no, err)})
			return
		default:
			p.engine.log.LogAttrs(ctx, slog.LevelWarn, "lease not renewed",
				slog.Int("partition", p.no), slog.Any("error", err))
			if !doubted && time.Since(renewed) >= p.engine.opts.LeaseFor-every {
				p.mail.put(input{doubt: true})
				doubted = true
			}
		}
	}
}

// renew asks the store, and does not wait for ever for its answer.
func (p *part) renew(ctx context.Context, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return p.engine.store.Renew(ctx, p.no, p.token, p.engine.opts.LeaseFor)
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
		p.mail.put(input{err: fmt.Errorf("partition %d: the store did not answer in time; what it did not take is run again after the next start", p.no)})
	}
}

// rows reads one partition's state.
type rows struct {
	ctx       context.Context
	store     store.State
	partition int
}

func (r rows) Get(key []byte) ([]byte, error) { return r.store.Get(r.ctx, r.partition, key) }

func (r rows) Scan(prefix []byte, yield func(key, value []byte) error) error {
	return r.store.Scan(r.ctx, r.partition, prefix, yield)
}
