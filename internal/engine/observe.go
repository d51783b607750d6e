package engine

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/scaling"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/internal/engine/telemetry"
)

const (
	observeEvery = time.Second
	observeFor   = 200 * time.Millisecond // a loop that does not answer is left out this time
	observeRest  = 3 * time.Second        // between two announcements while no node has anything to do
)

// observe looks at this node's lanes once a second and tells the leader and
// callers, until ctx ends.
func (e *Engine) observe(ctx context.Context) {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	m := telemetry.NewLoadMeter()
	rests := own.Seldom{Fleet: e.fleet, Every: min(observeRest, e.opts.LeaseFor/3)}
	for failing := false; ; {
		select {
		case <-ctx.Done():
			brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.opts.LeaseFor/3)
			_ = scaling.Withdraw(brief, e.store, e.node) // else it ends by itself
			cancel()
			return
		case <-tick.C:
		}
		read := e.intake.Looking()
		node := e.lookAtLanes(ctx, m)
		e.counts.Look(node, e.fleet.Size())
		if !failing && rests.TooSoon(node.At) {
			continue
		}
		err := e.publish(ctx, node)
		if err == nil {
			err = e.lookAtPending(ctx, node, read)
		}
		if err != nil && !failing && ctx.Err() == nil {
			e.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "lanes not announced, will try again", slog.Any("error", err))
		}
		failing = err != nil
	}
}

func (e *Engine) publish(ctx context.Context, n *weir.Node) error {
	ctx, cancel := context.WithTimeout(ctx, e.opts.LeaseFor/3)
	defer cancel()
	return scaling.Announce(ctx, e.store, n, e.opts.LeaseFor)
}

// lookAtPending finds out what the tenants that have a bound have pending, on all nodes.
func (e *Engine) lookAtPending(ctx context.Context, self *weir.Node, read []weir.BulkID) error {
	sum := maps.Clone(self.Pending)
	if e.shared() && len(e.limits.Bounded()) > 0 {
		ctx, cancel := context.WithTimeout(ctx, e.opts.LeaseFor/3)
		defer cancel()
		nodes, err := scaling.Nodes(ctx, e.store)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			for tenant, items := range n.Pending {
				if n.Name != self.Name {
					sum[tenant] += items
				}
			}
		}
	}
	e.intake.Looked(sum, read)
	return nil
}

// lookAtLanes asks the loops of all partitions what their lanes did.
func (e *Engine) lookAtLanes(ctx context.Context, m *telemetry.LoadMeter) *weir.Node {
	var asked int
	answers := make(chan []weir.Lane, stored.MaxPartitions)
	for p := range e.parts.all {
		p.mail.put(input{observe: answers})
		asked++
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
	n.Pending = e.parts.pending()
	n.At = time.Now().UTC()
	n.CPU, n.Memory = m.Read(n.At)
	e.limits.Describe(n.At.UnixNano(), n)
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
	if c := p.counter.TakeCensus(now, p.machine, p.engine.limits.Bounded(), running); c != nil {
		p.held.Store(c)
	}
	p.engine.counts.Add(&p.counter)
	return p.lanes.Look(now, p.no, p.machine, p.engine.opts.Workers)
}

// KnowActions has the counters of actions begin at 0 before they are used first.
func (e *Engine) KnowActions(names ...string) { e.counts.KnowActions(names...) }
