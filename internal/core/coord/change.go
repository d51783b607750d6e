package coord

import (
	"time"

	"github.com/weirhq/weir"
)

// held is the last observed state of one resource at one node.
type held struct {
	circuit           string
	limited, bearable bool
	seen              int64
}

// nodeResource is a resource at a node.
type nodeResource struct{ node, resource string }

// Changes compares the resource states that nodes report with those of the call before and
// returns the differences: a circuit that opened or closed, and flow control that started or
// stopped bounding a rate or the tasks in flight. A bound that only moves is not reported.
func (c *Coordinator) Changes(now int64, nodes []weir.Node) (out []weir.ResourceChange) {
	for i := range nodes {
		n := &nodes[i]
		for _, u := range n.Resources {
			at := nodeResource{n.Name, u.Name}
			is := held{u.Circuit, u.Limited, u.Bearable > 0, now}
			was, known := c.held[at]
			c.held[at] = is
			was.seen = now
			if !known {
				was = held{circuit: "closed", seen: now}
			}
			if is == was {
				continue
			}
			if u.Text == "" {
				u.Text = "no longer held down."
			}
			out = append(out, weir.ResourceChange{At: time.Unix(0, now).UTC(), Node: n.Name, ResourceUse: u})
		}
	}
	for at, h := range c.held { // order does not reach a result
		if now-h.seen > forgetAfter {
			delete(c.held, at)
		}
	}
	return out
}
