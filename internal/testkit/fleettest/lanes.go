//go:build unix

package fleettest

import (
	"context"
	"time"

	"github.com/weirhq/weir"
)

// Stream submits bulk actions of so many items, so many times a second, until it
// is told to stop.
func (c *client) Stream(bulks float64, items int) (stop func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Duration(float64(time.Second) / bulks))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				c.submit(items)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// Observed returns the nodes' descriptions of themselves; nil if the store does not answer.
func (c *client) Observed() []weir.Node {
	ctx, cancel := context.WithTimeout(c.t.Context(), answerIn)
	defer cancel()
	nodes, err := c.engine.Operator().Nodes(ctx)
	if err != nil {
		return nil
	}
	return nodes
}

// Lane is a node's description of a lane.
type Lane struct {
	weir.Lane
	Node string
	at   time.Time
}

// Lanes returns the nodes' descriptions of their lanes. If two nodes describe one, the later
// counts.
func (c *client) Lanes() map[weir.LaneID]Lane {
	all := map[weir.LaneID]Lane{}
	for _, n := range c.Observed() {
		for _, l := range n.Lanes {
			if n.At.After(all[l.ID].at) {
				all[l.ID] = Lane{l, n.Name, n.At}
			}
		}
	}
	return all
}

// Workers returns the number of workers of all lanes.
func (c *client) Workers() (n int) {
	for _, l := range c.Lanes() {
		n += l.Workers
	}
	return n
}

// SetScaling changes how workers follow the load.
func (c *client) SetScaling(change func(*weir.Scaling)) {
	c.t.Helper()
	if err := c.engine.Operator().SetScaling(c.t.Context(), change); err != nil {
		c.t.Fatal(err)
	}
}

// Decisions reads all decisions about a lane, the newest first.
func (c *client) Decisions(lane weir.LaneID) []weir.Decision {
	c.t.Helper()
	all, err := c.engine.Operator().Decisions(c.t.Context(), lane, 1000)
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

// Leader returns the leading node, as far as is known; nil: none.
func (f *Fleet) Leader() *Node {
	for _, o := range f.Observed() {
		for _, n := range f.Nodes {
			if o.Leads && o.Name == n.name && n.Running() {
				return n
			}
		}
	}
	return nil
}

// Owns lists the lanes that the node described last.
func (n *Node) Owns() (lanes []Lane) {
	for _, l := range n.fleet.Lanes() {
		if l.Node == n.name {
			lanes = append(lanes, l)
		}
	}
	return lanes
}
