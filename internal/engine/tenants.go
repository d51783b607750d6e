package engine

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir"
)

// unseenFor is how long an accepted bulk action may take to show in what its owner observes.
const unseenFor = 3 * time.Second

// quotas keeps tenants to the number of items that they may have pending. What
// all nodes observed within the last second or two is known; what was accepted
// here since then is added, so that one node never lets too much in. Several nodes
// at once may let in a little more.
type quotas struct {
	limits func(tenant string) weir.TenantLimits
	speed  func(items int64) time.Duration

	mu     sync.Mutex
	seen   map[string]int64 // by tenant, over all nodes
	recent map[weir.BulkID]*recentSubmit
}

// recentSubmit is a bulk action that may not be among what was observed.
type recentSubmit struct {
	tenant string
	items  int64
	at     time.Time
	read   bool // its owner is this node, and counts it from the next look on
}

// room refuses a tenant that may not have n items more.
func (q *quotas) room(tenant string, n int64) error {
	limit := q.limits(tenant).MaxPending
	if limit == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.roomIn(tenant, n, limit)
}

func (q *quotas) roomIn(tenant string, n, limit int64) error {
	pending := q.seen[tenant]
	for _, r := range q.recent { // a sum
		if r.tenant == tenant {
			pending += r.items
		}
	}
	if pending+n <= limit {
		return nil
	}
	return &weir.BacklogError{Tenant: tenant, Pending: pending, Limit: limit, RetryAfter: q.speed(max(pending+n-limit, 1))}
}

// take makes n items of a bulk action pending, or refuses them.
func (q *quotas) take(id weir.BulkID, tenant string, n int64) error {
	limit := q.limits(tenant).MaxPending
	if limit == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.roomIn(tenant, n, limit); err != nil {
		return err
	}
	if q.recent == nil {
		q.recent = map[weir.BulkID]*recentSubmit{}
	}
	q.recent[id] = &recentSubmit{tenant: tenant, items: n, at: time.Now()}
	return nil
}

// drop takes back what take has counted.
func (q *quotas) drop(id weir.BulkID) {
	q.mu.Lock()
	delete(q.recent, id)
	q.mu.Unlock()
}

// read notes that a partition of this node has the bulk action.
func (q *quotas) read(id weir.BulkID) {
	q.mu.Lock()
	if r := q.recent[id]; r != nil {
		r.read = true
	}
	q.mu.Unlock()
}

// looking returns what is counted from now on by those who look.
func (q *quotas) looking() (read []weir.BulkID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, r := range q.recent {
		if r.read || time.Since(r.at) > unseenFor {
			read = append(read, id)
		}
	}
	return read
}

// looked takes what all nodes have observed. It has what read names.
func (q *quotas) looked(seen map[string]int64, read []weir.BulkID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen = seen
	for _, id := range read {
		delete(q.recent, id)
	}
}

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
	for i := range e.parts {
		if p := e.parts[i].Load(); p != nil {
			if c := p.held.Load(); c != nil {
				for tenant, n := range c.pending {
					sum[tenant] += n
				}
			}
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
	e.quotas.looked(sum, read)
	return nil
}

// TenantPaused reports whether operators let nothing of a tenant start.
func (e *Engine) TenantPaused(tenant string) bool { return e.tenantLimits(tenant).Paused }
