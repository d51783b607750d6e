package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
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
	m := newLoadMeter()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.opts.LeaseFor/3)
			_ = e.store.Announce(brief, lanesTopic, store.Record{Name: e.node}, 0) // else it ends by itself
			cancel()
			return
		case <-tick.C:
		}
		read := e.quotas.looking()
		node := e.lookAtLanes(ctx, m)
		e.countSeen(e.seen.Swap(node), node)
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
func (e *Engine) lookAtLanes(ctx context.Context, m *loadMeter) *weir.Node {
	var asked int
	answers := make(chan []weir.Lane, maxPartitions)
	for i := range e.parts {
		if p := e.parts[i].Load(); p != nil {
			p.mail.put(input{observe: answers})
			asked++
		}
	}
	n := &weir.Node{Name: e.node, Leads: e.leads.Load(), Slots: e.opts.Slots}
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
	n.CPU, n.Memory = m.read(n.At)
	e.share.describe(n.At.UnixNano(), n)
	return n
}

// laneTotals is what the loop of a partition has counted of a lane since it owns it.
type laneTotals struct {
	weir.Lane
	idleSince int64
	looked    int64            // when the lane was looked at last
	taken     map[string]int64 // items of its tenants by then
	rates     map[string]float64
}

// idleFor is how long a lane without work is still told of.
const idleFor = int64(time.Minute)

// look adds what the lanes did to what they did before, and answers with it. A
// lane that has long been idle, with no more workers than it started with, is left out.
func (p *part) look(now int64) (lanes []weir.Lane) {
	p.takeCensus(now)
	p.engine.counts.add(&p.tally)
	p.loads = p.machine.Observe(now, p.loads[:0])
	if p.totals == nil {
		p.totals = map[string]*laneTotals{}
	}
	for i := range p.loads {
		x := &p.loads[i]
		t := p.totals[x.Resource]
		if t == nil {
			t = &laneTotals{Lane: weir.Lane{ID: weir.LaneID{Partition: p.no, Resource: x.Resource}}}
			p.totals[x.Resource] = t
		}
		t.add(x)
		t.addTenants(now, x)
		switch {
		case !t.Idle() || x.Ended > 0:
			t.idleSince = 0
		case t.idleSince == 0:
			t.idleSince = now
		case now-t.idleSince > idleFor && t.Workers <= p.engine.opts.Workers:
			continue
		}
		lanes = append(lanes, t.Lane)
	}
	return lanes
}

func (t *laneTotals) add(x *partition.LaneLoad) {
	t.Workers, t.Chunk = x.Workers, x.Chunk
	t.Ready, t.Eligible, t.Waiting = x.Ready, x.Backlog, x.Waiting
	t.InFlight, t.Busy, t.Weight = x.InFlight, x.Busy, x.Weight
	t.Wait50, t.Wait99, t.Oldest = time.Duration(x.Wait50), time.Duration(x.Wait99), time.Duration(x.Oldest)
	t.Cause = ""
	if t.Eligible > 0 {
		t.Cause = x.Cause.String()
	}
	t.Arrived += x.Arrived
	t.Started += int64(x.Started)
	t.Sent += x.Sent
	t.Ended += int64(x.Ended)
	t.Failed += int64(x.Failed)
	t.Refused += int64(x.Refused)
	t.Took += time.Duration(x.Took)
	t.Items, t.Again, t.Gone = t.Items+x.Items, t.Again+x.Again, t.Gone+x.Gone
}
