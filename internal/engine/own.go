package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// own takes the partition's lease, loads what is there, runs the loop until ctx
// ends, and hands the partition over.
func (p *part) own(ctx context.Context) error {
	stop := context.WithoutCancel(ctx)
	defer func() {
		if p.token != (store.Token{}) {
			p.handOver(stop)
		}
	}()
	if err := p.acquire(ctx); err != nil {
		return err
	}
	e := p.engine
	e.taking[p.no].Store(true)
	if err := p.loadAgain(ctx); err != nil {
		return err
	}
	e.parts[p.no].Store(p)
	e.taking[p.no].Store(false)
	e.health.runs(p.no)
	e.log.LogAttrs(ctx, slog.LevelInfo, "partition taken", slog.Int("partition", p.no), slog.Int64("pending", p.pending.Load()))
	p.logDeath(ctx)
	beside, cancel := context.WithCancel(stop)
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { p.readInbox(beside) })
	wg.Go(func() { p.keepLease(beside) })
	wg.Go(func() { p.keepPast(beside) })
	wg.Go(func() { p.retain(beside) })
	wg.Go(func() { p.drain(ctx, over) })
	writing, drop := context.WithCancel(stop) // a stop waits for what is being written
	e.trials.join(p)
	err := p.loop(ctx, writing)
	e.trials.leave(p)
	p.counted(err)
	drop()
	p.commits.Wait()
	close(over)
	cancel()
	wg.Wait()
	e.parts[p.no].Store(nil)
	if !errors.Is(err, store.ErrFenced) { // handed over: from now on others may commit
		e.past.left(p.no)
	}
	p.machine.Leave(time.Now().UnixNano())
	p.abandonAll()
	e.pending.Add(-p.pending.Swap(0) - e.submits.drop(p.no))
	return err
}

// logDeath says what follows from the death of the owner before.
func (p *part) logDeath(ctx context.Context) {
	if n := p.machine.Suspects(); p.machine.Crashed() && n > 0 {
		p.engine.log.LogAttrs(ctx, slog.LevelWarn, "process of the former owner ended while marked items ran; they run again one task at a time",
			slog.Int("partition", p.no), slog.Int("items", n))
	}
	for _, g := range p.machine.Guilty() {
		p.engine.log.LogAttrs(ctx, slog.LevelError, "item failed: its process ended each time it ran",
			slog.Int("partition", p.no), slog.String("bulk", string(g.Bulk)), slog.String("step", g.Step), slog.Int64("item", g.Item),
			slog.String("code", partition.CodeCrashedNode))
	}
}

// handOver gives the lease back and says so: the next owner need not wait.
func (p *part) handOver(ctx context.Context) {
	p.engine.taking[p.no].Store(false)
	ctx, cancel := context.WithTimeout(ctx, p.engine.opts.LeaseFor)
	defer cancel()
	if p.engine.store.Release(ctx, p.no, p.token) == nil { // else it runs out by itself
		p.engine.log.LogAttrs(ctx, slog.LevelInfo, "partition handed over", slog.Int("partition", p.no))
		p.engine.tell(ctx, "released", p.no)
	}
}

// acquire waits for the lease: its holder may be about to hand it over, or may
// have died with it.
func (p *part) acquire(ctx context.Context) error {
	e := p.engine
	for {
		news, asked := e.fleet.news.rung(), time.Now()
		tok, err := p.lease(ctx)
		switch {
		case err == nil:
			p.token = tok
			p.believe(asked)
			return p.checkTaken(ctx)
		case ctx.Err() != nil:
			return ctx.Err()
		case hopeless(err):
			return fmt.Errorf("acquire partition %d: %w", p.no, err)
		case !errors.Is(err, store.ErrHeld):
			e.log.LogAttrs(ctx, slog.LevelWarn, "partition not taken, will ask again", slog.Int("partition", p.no), slog.Any("error", err))
			news = nil
		}
		pause(ctx, announceEvery, news)
	}
}

// lease asks for the lease. A node that was the last to own the partition remembers what the store may have lost.
func (p *part) lease(ctx context.Context) (store.Token, error) {
	e := p.engine
	if w, ok := e.witness(); ok {
		if _, mine := e.past.mine(p.no); mine {
			return w.Reclaim(ctx, p.no, e.node, e.opts.LeaseFor)
		}
	}
	return e.store.Acquire(ctx, p.no, e.node, e.opts.LeaseFor)
}

// hopeless reports whether asking a store again would not help.
func hopeless(err error) bool {
	return errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFenced)
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
		case hopeless(err) || !p.engine.shared():
			return fmt.Errorf("load partition %d: %w", p.no, err)
		}
		p.engine.log.LogAttrs(ctx, slog.LevelWarn, "partition not loaded, will ask again", slog.Int("partition", p.no), slog.Any("error", err))
		sleep(ctx, retryEvery)
		asked := time.Now()
		if err := p.renew(ctx, p.engine.opts.LeaseFor/3); errors.Is(err, store.ErrFenced) {
			return fmt.Errorf("partition %d: %w", p.no, err)
		} else if err == nil {
			p.believe(asked)
		}
	}
}

// load reads the unfinished bulk actions, and removes the blocks of submits that never came to an end.
func (p *part) load(ctx context.Context) error {
	if err := p.repair(ctx); err != nil {
		return err
	}
	stored, err := p.engine.store.Last(ctx, p.no)
	if err != nil {
		return err
	}
	if err := p.engine.waitOutFormerOf(ctx, p.no); err != nil {
		return err
	}
	state, now := rows{ctx, p.engine.store, p.no}, time.Now().UnixNano()
	p.machine = partition.New(p.config(), stored.Number)
	err = p.engine.loadInTurn(p.machine, now, state)
	if err == nil {
		err = p.sweep(ctx)
	}
	if err != nil {
		p.machine.Leave(now)
		return err
	}
	p.tally.begin(now, p.machine)
	p.count(p.machine.Pending())
	return nil
}

// count changes the number of items of this partition that have not ended.
func (p *part) count(items int64) {
	p.pending.Add(items)
	p.engine.pending.Add(items)
}

// believe takes note of a lease that was granted or extended after asked.
func (p *part) believe(asked time.Time) {
	end := asked.Add(p.engine.opts.LeaseFor - p.engine.opts.LeaseFor/20) // clocks may run at different speeds
	p.leaseEnd.Store(&end)
}

// sure reports whether the lease has certainly not run out.
func (p *part) sure(now time.Time) bool { return certainlyBefore(now, *p.leaseEnd.Load()) }

// keepLease renews at a third of the lease's time, and sooner if that failed: other nodes wait for the lease.
func (p *part) keepLease(ctx context.Context) {
	every := p.engine.opts.LeaseFor / 3
	for wait := every; ; {
		sleep(ctx, wait)
		if ctx.Err() != nil {
			return
		}
		wait = every
		asked := time.Now()
		doubted := !p.sure(asked)
		err := p.renew(ctx, every)
		switch {
		case err == nil:
			p.believe(asked)
			if doubted {
				p.mail.put(input{renewed: true})
			}
		case errors.Is(err, store.ErrFenced):
			p.mail.put(input{err: fmt.Errorf("partition %d: renew lease: %w", p.no, err)})
			return
		default:
			p.engine.log.LogAttrs(ctx, slog.LevelWarn, "lease not renewed",
				slog.Int("partition", p.no), slog.Any("error", err))
			wait = retryEvery
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

func (r rows) GetMany(keys [][]byte) ([][]byte, error) {
	return r.store.GetMany(r.ctx, r.partition, keys)
}

func (r rows) Scan(prefix []byte, yield func(key, value []byte) error) error {
	return r.store.Scan(r.ctx, r.partition, prefix, yield)
}
