package coord

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// Remember restores the newest decision about a lane that an earlier leader stored.
func (c *Coordinator) Remember(d *weir.Decision) {
	x, brief := c.decided[d.Lane], *d
	brief.Inputs = weir.DecisionInputs{} // they are stored with it
	if d.Shadow {
		x.Shadow = &brief
	} else {
		x.Decision, x.Need, x.Useful = &brief, d.Inputs.Need, d.Inputs.Useful
	}
	c.decided[d.Lane] = x
}

// Plan returns this leader's view of the lanes that were reported lately. If nodes is nil, it
// returns the last decision about each lane.
func (c *Coordinator) Plan(now int64, nodes []weir.Node) weir.Plan {
	p := weir.Plan{At: time.Unix(0, now).UTC(), Nodes: len(nodes)}
	slots := 0
	for id, x := range c.decided { // sorted below: order does not reach the output
		if nodes == nil && x.Decision != nil { // only what was decided last is known of it
			x.Lane, x.Workers = id, x.Decision.To
			p.Lanes = append(p.Lanes, x)
		}
	}
	for id, t := range c.lanes { // sorted below: order does not reach the output
		x := c.decided[id]
		x.Lane, x.Workers, x.Need, x.Useful, x.Reason = id, t.workers, t.need, t.useful, string(t.reason)
		p.Lanes = append(p.Lanes, x)
		p.Workers += max(t.workers, 0)
	}
	slices.SortFunc(p.Lanes, func(a, b weir.LanePlan) int {
		return cmp.Or(a.Lane.Partition-b.Lane.Partition, cmp.Compare(a.Lane.Resource, b.Lane.Resource))
	})
	for i := range nodes {
		slots += nodes[i].Slots
	}
	needed, desired := c.desired(float64(slots) / float64(max(len(nodes), 1)))
	p.WorkersNeeded, p.NodesDesired = int(math.Ceil(needed)), desired
	return p
}
