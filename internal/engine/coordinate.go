package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/coord"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

const (
	decideEvery = time.Second
	planTopic   = "plan"
)

// coordinate is the leader's work on lanes: it reads what all nodes observed,
// decides how many workers each lane should have, stores the decisions and sends
// them to the partitions, until ctx ends or another node leads. Without a leader
// everything goes on with the workers that it has.
func (e *Engine) coordinate(ctx context.Context, l *own.Leader) {
	c := coord.New()
	book := &decisionBook{leader: l}
	tick := time.NewTicker(decideEvery)
	defer tick.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := e.decideOnce(ctx, c, book)
		switch {
		case errors.Is(err, store.ErrFenced), errors.Is(err, store.ErrClosed):
			return
		case err != nil && !failing && ctx.Err() == nil:
			e.log.LogAttrs(ctx, slog.LevelWarn, "workers not decided on, will try again", slog.Any("error", err))
		}
		failing = err != nil
	}
}

// decideOnce is one cycle. A decision is stored before it is sent: a node that
// leads no more cannot store, so it cannot send either.
func (e *Engine) decideOnce(ctx context.Context, c *coord.Coordinator, book *decisionBook) error {
	ctx, cancel := context.WithTimeout(ctx, e.opts.LeaseFor/3)
	defer cancel()
	if err := book.open(ctx, c); err != nil {
		return err
	}
	nodes, err := e.ops.announcedLanes(ctx)
	if err != nil {
		return err
	}
	e.learnOthers(nodes)
	settings, err := e.ScalingInForce(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	all := c.Cycle(now.UnixNano(), coord.Fleet{Nodes: nodes, Limits: e.resourceLimits(), Partitions: e.layout.Now().Partitions}, &settings)
	for i := range all {
		all[i].Epoch = book.leader.Epoch()
	}
	if err := book.write(ctx, now, c, all, c.Changes(now.UnixNano(), nodes)); err != nil {
		return err
	}
	var failed error
	for i := range all {
		failed = errors.Join(failed, e.carryOut(ctx, &all[i]))
	}
	plan := c.Plan(now.UnixNano(), nodes)
	plan.Leader = e.node
	e.counts.Plan.Store(&plan)
	return errors.Join(failed, e.tellPlan(ctx, &plan))
}

// tellPlan announces what this leader thinks of all lanes.
func (e *Engine) tellPlan(ctx context.Context, p *weir.Plan) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return e.store.Announce(ctx, planTopic, store.Record{Name: planTopic, Value: raw}, e.opts.LeaseFor)
}

// carryOut logs a decision, and sends it to its lane if it changes something.
func (e *Engine) carryOut(ctx context.Context, d *weir.Decision) error {
	e.log.LogAttrs(ctx, slog.LevelInfo, "decided on workers", slog.String("lane", d.Lane.String()),
		slog.Int("from", d.From), slog.Int("to", d.To),
		slog.String("reason", d.Reason), slog.String("text", d.Text), slog.Bool("shadow", d.Shadow))
	e.counts.Decided(d)
	if d.Shadow || d.From == d.To {
		return nil
	}
	s := partition.Scale{Type: partition.ScaleUp, Lane: d.Lane.Resource, Workers: d.To, Reason: d.Text, Epoch: d.Epoch, At: d.At.UnixNano()}
	if d.To < d.From {
		s.Type = partition.ScaleDown
	}
	body, err := partition.EncodeScale(s)
	if err == nil {
		err = e.store.Append(ctx, d.Lane.Partition, body, store.Claim{})
	}
	if err != nil {
		return fmt.Errorf("tell %v to have %d workers: %w", d.Lane, d.To, err)
	}
	return nil
}

// ScalingInForce returns how workers follow the load: what operators set, and the engine's
// options where they set nothing.
func (e *Engine) ScalingInForce(ctx context.Context) (weir.Scaling, error) {
	s, _, err := e.ops.settings(ctx)
	if err != nil {
		return s, err
	}
	d := e.opts.Scaling
	s.Policy, s.Shadow = cmp.Or(s.Policy, d.Policy), cmp.Or(s.Shadow, d.Shadow)
	s.Min, s.Max = cmp.Or(s.Min, d.Min, e.opts.Workers), cmp.Or(s.Max, d.Max)
	s.Drain, s.Paused = cmp.Or(s.Drain, d.Drain), cmp.Or(s.Paused, d.Paused)
	if s.Timetables == nil {
		s.Timetables = d.Timetables
	}
	if s.RateRules == nil {
		s.RateRules = d.RateRules
	}
	coord.Expire(&s, time.Now().UnixNano())
	return s, nil
}

// resourceLimits is what each resource may be used for, by its name.
func (e *Engine) resourceLimits() map[string]weir.Resource {
	out := map[string]weir.Resource{}
	for r := range e.allResources() {
		out[r.Name] = r
	}
	return out
}
