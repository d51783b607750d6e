package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/flow"
)

// knowResources has flow control watch over all registered resources, also those
// not in use yet. Nothing starts on a shared limit of theirs without a quota.
func (e *Engine) knowResources() {
	e.share.do(func(n *capacity.Node) {
		for r := range e.resources() {
			n.Resource(r)
		}
	})
}

// steer has flow control look at all resources, four times a second, until ctx ends.
func (e *Engine) steer(ctx context.Context) {
	tick := time.NewTicker(flow.Window)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var changes []capacity.Change
		e.share.do(func(n *capacity.Node) { changes = n.Steer(time.Now().UnixNano()) })
		for _, c := range changes {
			e.log.LogAttrs(ctx, slog.LevelInfo, "flow control", slog.String("resource", c.Resource), slog.String("text", c.Text))
		}
	}
}

// describe adds what flow control knows to a node's observations.
func (s *share) describe(now int64, n *weir.Node) {
	s.Lock()
	defer s.Unlock()
	for _, r := range s.can.Resources() {
		u, held := r.Describe(now), r.State(now)
		n.Resources = append(n.Resources, u)
		for i := range n.Lanes {
			if l := &n.Lanes[i]; l.ID.Resource == u.Name {
				l.QuotaUse, l.Closed, l.Strained = u.Use, held.Closed, held.Strained
			}
		}
	}
}

// set has flow control do what operators have set.
func (s *share) set(now int64, set *weir.Scaling) {
	s.Lock()
	defer s.Unlock()
	for _, r := range s.can.Resources() {
		name := r.Limits().Name
		_ = r.SetRule(set.RateRules[name]) // it was checked when it was set
		if want, ok := set.Circuits[name]; ok {
			r.SetCircuit(now, &want)
		} else {
			r.SetCircuit(now, nil)
		}
	}
}
