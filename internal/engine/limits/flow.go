package limits

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/flow"
)

// steer has flow control look at all resources, four times a second, until ctx ends.
func (c *Control) steer(ctx context.Context) {
	tick := time.NewTicker(flow.Window)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var changes []capacity.Change
		c.can.do(func(n *capacity.Node) { changes = n.Steer(time.Now().UnixNano()) })
		for _, x := range changes {
			c.Log.LogAttrs(ctx, slog.LevelInfo, "flow control", slog.String("resource", x.Resource), slog.String("text", x.Text))
		}
	}
}

// Describe adds what flow control knows to a node's observations.
func (c *Control) Describe(now int64, n *weir.Node) {
	c.can.Lock()
	defer c.can.Unlock()
	for _, r := range c.can.node.Resources() {
		u, held := r.Describe(now), r.State(now)
		n.Resources = append(n.Resources, u)
		for i := range n.Lanes {
			if l := &n.Lanes[i]; l.ID.Resource == u.Name {
				l.QuotaUse, l.Closed, l.Strained = u.Use, held.Closed, held.Strained
			}
		}
	}
}

// obeySettings opens and closes breakers, and chooses rules, as operators have set them.
func (c *Control) obeySettings(set *weir.Scaling) {
	now := time.Now().UnixNano()
	c.can.do(func(n *capacity.Node) {
		for _, r := range n.Resources() {
			name := r.Limits().Name
			_ = r.SetRule(set.RateRules[name]) // it was checked when it was set
			if want, ok := set.Circuits[name]; ok {
				r.SetCircuit(now, &want)
			} else {
				r.SetCircuit(now, nil)
			}
			if asked, ok := set.Probes[name]; ok {
				r.Try(now, asked.UnixNano())
			}
		}
	})
}
