package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/coord"
	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/store"
)

const decideEvery = time.Second

// coordinate is the leader's work on lanes: it reads what all nodes observed,
// decides how many workers each lane should have, stores the decisions and sends
// them to the partitions, until ctx ends or another node leads. Without a leader
// everything goes on with the workers that it has.
func (e *Engine) coordinate(ctx context.Context, l *leader) {
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
	nodes, err := e.announcedLanes(ctx)
	if err != nil {
		return err
	}
	settings, err := e.Scaling(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	all := c.Cycle(now.UnixNano(), coord.Fleet{Nodes: nodes, Rates: e.rates(), Partitions: e.layout.now().Partitions}, &settings)
	for i := range all {
		all[i].Epoch = book.leader.tok.Epoch
	}
	if err := book.write(ctx, now, c, all, c.Changes(now.UnixNano(), nodes)); err != nil {
		return err
	}
	var failed error
	for i := range all {
		failed = errors.Join(failed, e.carryOut(ctx, &all[i]))
	}
	return failed
}

// carryOut logs a decision, and sends it to its lane if it changes something.
func (e *Engine) carryOut(ctx context.Context, d *weir.Decision) error {
	e.log.LogAttrs(ctx, slog.LevelInfo, "decided on workers", slog.String("lane", d.Lane.String()), slog.Int("from", d.From), slog.Int("to", d.To),
		slog.String("reason", d.Reason), slog.String("text", d.Text), slog.Bool("shadow", d.Shadow))
	e.decided.count(d)
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

// decisionCounts counts the decisions that this node made as the leader.
type decisionCounts struct {
	mu sync.Mutex
	by map[decisionKind]int64
}

// decisionKind is what decisions are counted by.
type decisionKind struct{ direction, reason string }

func (c *decisionCounts) count(d *weir.Decision) {
	if d.Shadow {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[decisionKind]int64{}
	}
	c.by[decisionKind{d.Direction(), d.Reason}]++
}

// announcedLanes is what all nodes observed last.
func (e *Engine) announcedLanes(ctx context.Context) ([]weir.Node, error) {
	records, err := e.store.Announced(ctx, lanesTopic)
	if err != nil {
		return nil, fmt.Errorf("read lanes: %w", err)
	}
	nodes := make([]weir.Node, 0, len(records))
	for _, r := range records {
		var n weir.Node
		if err := json.Unmarshal(r.Value, &n); err != nil {
			return nil, fmt.Errorf("lanes of node %q: %w: %w", r.Name, store.ErrCorrupt, err)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// rates is what each resource lets through, in items per second.
func (e *Engine) rates() map[string]float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[string]float64{}
	for _, steps := range e.chains {
		for _, s := range steps {
			if s.Resource.Rate > 0 {
				out[s.Resource.Name] = float64(s.Resource.Rate)
			}
		}
	}
	return out
}
