package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/internal/engine/telemetry"
	"github.com/weirhq/weir/store"
)

const (
	lanesTopic   = "lanes"
	observeEvery = time.Second
	observeFor   = 200 * time.Millisecond // a loop that does not answer is left out this time
)

// observe looks at this node's lanes once a second and tells the leader and
// callers, until ctx ends.
func (e *Engine) observe(ctx context.Context) {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	m := telemetry.NewLoadMeter()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.opts.LeaseFor/3)
			_ = e.store.Announce(brief, lanesTopic, store.Record{Name: e.node}, 0) // else it ends by itself
			cancel()
			return
		case <-tick.C:
		}
		read := e.intake.Looking()
		node := e.lookAtLanes(ctx, m)
		e.counts.Look(node)
		err := e.publish(ctx, node)
		if err == nil {
			err = e.lookAtPending(ctx, node, read)
		}
		if err != nil && !failing && ctx.Err() == nil {
			e.log.LogAttrs(ctx, slog.LevelWarn, "lanes not announced, will try again", slog.Any("error", err))
		}
		failing = err != nil
	}
}

func (e *Engine) publish(ctx context.Context, n *weir.Node) error {
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.opts.LeaseFor/3)
	defer cancel()
	return e.store.Announce(ctx, lanesTopic, store.Record{Name: e.node, Value: raw}, e.opts.LeaseFor)
}

// obeySettings opens and closes breakers, and chooses rules, as operators have set them.
func (e *Engine) obeySettings(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.opts.LeaseFor/3)
	defer cancel()
	s, err := e.ScalingInForce(ctx)
	if err == nil {
		e.share.set(time.Now().UnixNano(), &s)
	}
	return err
}

// lookAtLanes asks the loops of all partitions what their lanes did.
func (e *Engine) lookAtLanes(ctx context.Context, m *telemetry.LoadMeter) *weir.Node {
	var asked int
	answers := make(chan []weir.Lane, stored.MaxPartitions)
	for i := range e.parts {
		if p := e.parts[i].Load(); p != nil {
			p.mail.put(input{observe: answers})
			asked++
		}
	}
	n := &weir.Node{Name: e.node, Leads: e.fleet.Leads(), Slots: e.opts.Slots}
	late := time.NewTimer(observeFor)
	defer late.Stop()
	for ; asked > 0; asked-- {
		select {
		case lanes := <-answers:
			n.Lanes = append(n.Lanes, lanes...)
			continue
		case <-late.C:
		case <-ctx.Done():
		}
		break
	}
	n.Pending = e.heldPending()
	n.At = time.Now().UTC()
	n.CPU, n.Memory = m.Read(n.At)
	e.share.describe(n.At.UnixNano(), n)
	return n
}

// look takes stock of the partition for the node's metrics, and returns what its lanes did.
func (p *part) look(now int64) []weir.Lane {
	running := func(yield func(string) bool) {
		for _, r := range p.running {
			if !r.cut.Filter && !yield(r.cut.Step.Action) {
				return
			}
		}
	}
	if c := p.tally.TakeCensus(now, p.machine, p.engine.bounded(), running); c != nil {
		p.held.Store(c)
	}
	p.engine.counts.Add(&p.tally)
	return p.lanes.Look(now, p.no, p.machine, p.engine.opts.Workers)
}

// held yields what the partitions of this node held when they were last looked at.
func (e *Engine) held(yield func(*telemetry.Census) bool) {
	for i := range e.parts {
		if p := e.parts[i].Load(); p != nil {
			if c := p.held.Load(); c != nil && !yield(c) {
				return
			}
		}
	}
}

// KnowActions has the counters of actions begin at 0 before they are used first.
func (e *Engine) KnowActions(names ...string) { e.counts.KnowActions(names...) }
