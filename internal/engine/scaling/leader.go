// Package scaling decides how many workers each lane has, on the node that leads, and keeps what
// that needs in the store: the settings of operators, what nodes announce of their lanes, and the
// decisions. The rules are in packages coord and scale.
package scaling

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/coord"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/limits"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/telemetry"
	"github.com/weirhq/weir/store"
)

const (
	decideEvery = time.Second
	decideRest  = 5 * time.Second // while no node has anything to do
)

// Scaler decides on the workers of all lanes while its node leads.
type Scaler struct {
	Store      store.Store
	Node       string
	LeaseFor   time.Duration
	Log        *slog.Logger
	Limits     *limits.Control
	Counts     *telemetry.Recorder
	Settings   func(context.Context) (weir.Scaling, error) // in force
	Partitions func() int                                  // that new work is spread over
	Fleet      *own.Fleet
}

// Coordinate is the leader's work on lanes: it reads what all nodes observed,
// decides how many workers each lane should have, stores the decisions and sends
// them to the partitions, until ctx ends or another node leads. Without a leader
// everything goes on with the workers that it has.
func (s *Scaler) Coordinate(ctx context.Context, l *own.Leader) {
	defer s.Counts.Plan.Store(nil)
	defer s.Counts.Fair.Store(nil)
	c := coord.New()
	book := &decisionBook{leader: l}
	tick := time.NewTicker(decideEvery)
	defer tick.Stop()
	rests := own.Seldom{Fleet: s.Fleet, Every: min(decideRest, s.LeaseFor/2)}
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if !failing && rests.TooSoon(now) {
				continue
			}
		}
		err := s.decideOnce(ctx, c, book)
		switch {
		case errors.Is(err, store.ErrFenced), errors.Is(err, store.ErrClosed):
			return
		case err != nil && !failing && ctx.Err() == nil:
			s.Log.LogAttrs(ctx, slog.LevelWarn, "workers not decided on, will try again", slog.Any("error", err))
		}
		failing = err != nil
	}
}

// decideOnce is one cycle. A decision is stored before it is sent: a node that
// leads no more cannot store, so it cannot send either.
func (s *Scaler) decideOnce(ctx context.Context, c *coord.Coordinator, book *decisionBook) error {
	ctx, cancel := context.WithTimeout(ctx, s.LeaseFor/3)
	defer cancel()
	if err := book.open(ctx, c); err != nil {
		return err
	}
	nodes, err := Nodes(ctx, s.Store)
	if err != nil {
		return err
	}
	s.Limits.LearnOthers(nodes)
	settings, err := s.Settings(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	all := c.Cycle(now.UnixNano(), coord.Fleet{Nodes: nodes, Limits: s.Limits.All(), Partitions: s.Partitions()}, &settings)
	for i := range all {
		all[i].Epoch = book.leader.Epoch()
	}
	if err := book.write(ctx, now, c, all, c.Changes(now.UnixNano(), nodes)); err != nil {
		return err
	}
	var failed error
	for i := range all {
		failed = errors.Join(failed, s.carryOut(ctx, &all[i]))
	}
	fair := telemetry.Fairness(telemetry.Shares(lanesOf(nodes), s.Limits.Weight))
	s.Counts.Fair.Store(&fair)
	plan := c.Plan(now.UnixNano(), nodes)
	plan.Leader = s.Node
	s.Counts.Plan.Store(&plan)
	return errors.Join(failed, announce(ctx, s.Store, planTopic, planTopic, &plan, s.LeaseFor))
}

// lanesOf returns the lanes of all nodes.
func lanesOf(nodes []weir.Node) (all []weir.Lane) {
	for i := range nodes {
		all = append(all, nodes[i].Lanes...)
	}
	return all
}

// carryOut logs a decision, and sends it to its lane if it changes something.
func (s *Scaler) carryOut(ctx context.Context, d *weir.Decision) error {
	s.Log.LogAttrs(ctx, slog.LevelInfo, "decided on workers", slog.String("lane", d.Lane.String()),
		slog.Int("from", d.From), slog.Int("to", d.To),
		slog.String("reason", d.Reason), slog.String("text", d.Text), slog.Bool("shadow", d.Shadow))
	s.Counts.Decided(d)
	if d.Shadow || d.From == d.To {
		return nil
	}
	order := partition.Scale{Type: partition.ScaleUp, Lane: d.Lane.Resource, Workers: d.To, Reason: d.Text,
		Epoch: d.Epoch, At: d.At.UnixNano()}
	if d.To < d.From {
		order.Type = partition.ScaleDown
	}
	body, err := partition.EncodeScale(order)
	if err == nil {
		err = s.Store.Append(ctx, d.Lane.Partition, body, store.Claim{})
	}
	if err != nil {
		return fmt.Errorf("tell %v to have %d workers: %w", d.Lane, d.To, err)
	}
	return nil
}
