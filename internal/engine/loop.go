package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/internal/engine/telemetry"
	"github.com/weirhq/weir/store"
)

// part is one partition and the goroutines around it: a loop, an inbox reader, a
// lease keeper, at most one committer, and one goroutine per running task. All
// of them talk to the loop through its mailbox.
type part struct {
	*own.Tenure
	engine  *Engine
	no      int
	mail    *mailbox
	readOn  chan struct{} // the loop has taken what the inbox reader brought
	removed chan struct{} // the removal that the loop was given is durable
	machine *partition.Machine
	running []*run     // tasks in flight, in no order, for their deadlines
	recent  stored.Key // the block that was asked for last
	opened  *stored.Entry

	stalled   bool  // the store did not take a commit
	writing   int64 // since when a commit is under way; 0: none is
	doubting  bool  // the lease may be lost, or limits may have changed: nothing starts
	stopping  bool  // told to hand the partition over
	abandoned bool  // the drain time is over
	closing   bool  // nothing is left but to record the end of the tenure
	commits   sync.WaitGroup
	out       outbox
	lanes     telemetry.Lanes
	counter   telemetry.Counter                // for metrics
	held      atomic.Pointer[telemetry.Census] // as of the last look
}

func newPart(e *Engine, t *own.Tenure) *part {
	return &part{
		Tenure: t, engine: e, no: t.Partition(), mail: newMailbox(), readOn: make(chan struct{}, 1), removed: make(chan struct{}, 1),
		out: outbox{from: t.Partition(), store: e.store, timeout: e.opts.LeaseFor / 3, log: e.opts.Logger},
	}
}

const (
	checkEvery = 100 * time.Millisecond // deadlines of running tasks
	groupFor   = time.Millisecond       // looks at a commit that ends everything
	quickly    = 50 * time.Microsecond  // turns that follow each other so soon had little to do each
	retryEvery = 200 * time.Millisecond // a store that does not answer
	stallAfter = 500 * time.Millisecond // a commit that takes longer may never be taken
)

// loop feeds the machine until it has been told to stop and has settled. Each
// turn takes everything that came in, lets the machine advance, and does what it
// says: inputs -> machine -> commit -> effects.
func (p *part) loop(ctx, writing context.Context) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("partition %d: broken invariant: %v\n%s", p.no, broken, debug.Stack())
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var inputs []input
	var nextCheck, last int64
	var many bool
	for {
		inputs = p.mail.take(inputs, timer, many)
		at := time.Now()
		now := at.UnixNano()
		many, last = now-last < int64(quickly), now
		for i := range inputs {
			if err := p.step(now, &inputs[i]); err != nil {
				return err
			}
		}
		clear(inputs)
		p.doubt(!p.Sure(at) || !p.engine.limits.Current(at) || p.stuck(now) || p.hushed())
		if now >= nextCheck {
			p.checkDeadlines(now) // before Advance: it may end tasks
			nextCheck = now + int64(checkEvery)
		}
		do := p.machine.Advance(now)
		p.show(ctx, now, do)
		p.tellEvents(ctx, do.Events)
		if len(do.Send) > 0 && p.out.put(do.Send) {
			p.commits.Go(func() { p.out.deliver(writing) })
		}
		if do.Removed > 0 {
			p.removed <- struct{}{} // there is room: one at a time is under way
		}
		if batch := do.Commit; batch != nil { // do is used again by the next Advance
			p.writing = now
			p.commits.Go(func() { p.commit(writing, batch) })
		}
		for _, t := range do.Start {
			p.start(ctx, now, t)
		}
		wake := do.Wake
		if ctx.Err() != nil {
			if p.over(now) {
				return nil
			}
			if p.closing {
				wake = min(wake, now+int64(groupFor))
			}
		}
		if len(p.running) > 0 {
			wake = min(wake, nextCheck)
		}
		timer.Reset(untilWake(now, wake))
	}
}

func untilWake(now, wake int64) time.Duration {
	return min(max(0, time.Duration(wake-now)), time.Hour)
}

// over reports whether a loop that was told to stop has nothing left to do.
func (p *part) over(now int64) bool {
	p.closing = p.machine.Settled() || p.abandoned && p.machine.Written()
	return p.closing && (p.machine.Close() || p.stuck(now))
}

// stuck reports whether the store does not take what is to be written. A tenure
// whose end is not recorded costs the next owner a few marks.
func (p *part) stuck(now int64) bool {
	return p.stalled || p.writing != 0 && now > p.writing+int64(stallAfter)
}

// doubt has an owner start nothing that cannot be sure of its lease, or cannot
// commit: the next owner would run it again. Nor may it start anything by limits
// that may have been lowered.
func (p *part) doubt(now bool) {
	switch {
	case now && !p.doubting:
		p.machine.Stop()
	case !now && p.doubting && !p.stopping:
		p.machine.Proceed()
	}
	p.doubting = now
}

// step applies one input. One that only wakes the loop has nothing to apply.
func (p *part) step(now int64, in *input) error {
	switch {
	case in.run != nil:
		p.ended(now, in.run)
	case in.committed:
		p.stalled, p.writing = false, 0
		p.machine.Committed(now)
	case in.stalled:
		p.stalled = true
	case in.messages != nil:
		return p.messages(now, in.messages)
	case in.limits:
		p.relimit(now)
	case in.reach:
		p.survey(now)
	case in.observe != nil:
		in.observe <- p.look(now) // there is room
	case in.moved != nil:
		p.engine.counts.Add(&p.counter)
		in.moved <- p.counter.TakeMoved(now, p.machine) // there is room
	case in.noted != nil:
		p.machine.Noted(now, *in.noted)
	case in.remove != nil:
		p.machine.Remove(in.remove)
	case in.stop:
		p.stopping = true
		p.machine.Stop()
	case in.abandon:
		p.abandoned = true
	case in.err != nil:
		return in.err
	}
	return nil
}

// messages takes what the inbox reader brought, and lets it read on.
func (p *part) messages(now int64, msgs []store.Message) error {
	for _, m := range msgs {
		added, err := p.machine.Message(now, m)
		if err != nil {
			return fmt.Errorf("partition %d: %w", p.no, err)
		}
		if added != nil {
			if added.Inline {
				p.engine.cache.Put(stored.Key{ID: added.ID}, added.Block)
			}
			p.counter.Created(now, p.machine, added)
			p.Pending.Add(added.Items)
			p.engine.intake.Read(added.ID, added.Items)
		}
	}
	p.readOn <- struct{}{}
	return nil
}

// readInbox hands messages to the loop, a bounded number at a time: it reads no
// further before the loop has taken them.
func (p *part) readInbox(ctx context.Context) {
	for after := uint64(0); ctx.Err() == nil; {
		msgs, err := p.engine.store.Read(ctx, p.no, after, stored.InboxRead)
		if err == nil {
			err = p.engine.past.SiftAgain(ctx, p.no, msgs)
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, store.ErrCorrupt):
			p.mail.put(input{err: fmt.Errorf("partition %d: read inbox: %w", p.no, err)})
			return
		case err != nil:
			p.engine.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "inbox not read, will ask again",
				slog.Int("partition", p.no), slog.Any("error", err))
			sleep(ctx, retryEvery)
		case len(msgs) > 0:
			after = msgs[len(msgs)-1].Seq
			p.mail.put(input{messages: msgs})
			select {
			case <-p.readOn:
			case <-ctx.Done():
			}
		}
	}
}

func sleep(ctx context.Context, d time.Duration) { own.Pause(ctx, d, nil) }

// show publishes what has become durable.
func (p *part) show(ctx context.Context, now int64, do *partition.Effects) {
	if wrong := p.counter.Shown(now, do.Views); wrong > 0 {
		p.engine.counts.Violations.Add(wrong)
	}
	if do.Ended != 0 {
		p.count(-do.Ended)
		p.engine.intake.Ended(do.Ended)
	}
	for i := range do.Views {
		p.engine.watches.publish(&do.Views[i])
	}
	p.engine.parts.told.log(ctx, p.engine.opts.Logger, now, do.Views)
}

// config is what the partition's machine is told about this engine.
func (p *part) config() partition.Config {
	e := p.engine
	return partition.Config{
		Capacity: e.limits.Join(p.mail),
		Workers:  e.opts.Workers,
		Seed:     randomSeed(),
		Node:     e.node,
		Trials:   turns{p},
		Chain:    e.catalog.Steps,
		Describe: e.catalog.Described,
		Tenant:   p.tenant,
		Codec:    e.codec,
	}
}

// relimit has the machine work with the limits that hold now.
func (p *part) relimit(now int64) {
	p.machine.Relimit(now)
	p.machine.Reweigh(now)
}

// survey has the machine share its work with the nodes that there are now.
func (p *part) survey(now int64) {
	p.machine.Reach(now, partition.Reach{Self: p.no, Nodes: p.engine.member.Reach()})
}

// tenant is what the partition's machine is told of a tenant.
func (p *part) tenant(name string) capacity.TenantLimits {
	t := p.engine.limits.Tenant(name)
	return capacity.TenantLimits{Weight: t.Weight, MaxTasks: t.MaxTasks, Paused: t.Paused}
}
