package sim

import (
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/engine/stored"
)

// deliverCalls has the owners turn for which something was picked.
func (n *node) deliverCalls() {
	for n.capacity.Called() {
		for _, p := range n.capacity.Calls(nil) {
			p.Data.(*owner).put(func() {})
		}
	}
}

// tenant returns what the machines of a node are told of a tenant. The last one counts.
func (n *node) tenant(name string) capacity.TenantLimits {
	n.tenants[name] = n.w.tenants[name]
	return n.tenants[name]
}

// rows reads a partition's state.
func (w *World) rows(partition int) stored.Rows { return stored.At(w.ctx, w.mem, partition) }
