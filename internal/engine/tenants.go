package engine

import (
	"cmp"
	"context"

	"github.com/weirhq/weir"
)

// bounded are the tenants that have a bound on their pending items.
func (e *Engine) bounded() map[string]bool {
	e.limits.mu.Lock()
	defer e.limits.mu.Unlock()
	return e.limits.bounded
}

func boundedOf(l *weir.Limits) map[string]bool {
	out := map[string]bool{}
	for _, name := range l.TenantNames() {
		if l.Tenant(name).MaxPending > 0 {
			out[name] = true
		}
	}
	return out
}

// heldPending is what this node's partitions hold of tenants that have a bound.
func (e *Engine) heldPending() map[string]int64 {
	sum := map[string]int64{}
	for c := range e.held {
		for tenant, n := range c.Pending {
			sum[tenant] += n
		}
	}
	return sum
}

// lookAtPending finds out what the tenants that have a bound have pending, on all nodes.
func (e *Engine) lookAtPending(ctx context.Context, self *weir.Node, read []weir.BulkID) error {
	sum := map[string]int64{}
	for tenant, n := range self.Pending {
		sum[tenant] += n
	}
	if e.shared() && len(e.bounded()) > 0 {
		ctx, cancel := context.WithTimeout(ctx, e.opts.LeaseFor/3)
		defer cancel()
		nodes, err := e.ops.announcedLanes(ctx)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			for tenant, items := range n.Pending {
				if n.Name != self.Name {
					sum[tenant] += items
				}
			}
		}
	}
	e.intake.Looked(sum, read)
	return nil
}

// TenantPaused reports whether operators let nothing of a tenant start.
func (e *Engine) TenantPaused(tenant string) bool { return e.tenantLimits(tenant).Paused }

// weightOf is what a tenant has beside others.
func (e *Engine) weightOf(tenant string) float64 { return cmp.Or(e.tenantLimits(tenant).Weight, 1) }
