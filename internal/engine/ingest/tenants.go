package ingest

import (
	"fmt"
	"sync"
	"time"

	"github.com/weirhq/weir"
)

// unseenFor is how long an accepted bulk action may take to show in what its owner observes.
const unseenFor = 3 * time.Second

// tenantBacklogs keeps tenants to the number of items that they may have pending. What
// all nodes observed within the last second or two is known; what was accepted
// here since then is added, so that one node never lets too much in. Several nodes
// at once may let in a little more.
type tenantBacklogs struct {
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
func (q *tenantBacklogs) room(tenant string, n int64) error {
	limit := q.limits(tenant).MaxPending
	if limit == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.roomIn(tenant, n, limit)
}

func (q *tenantBacklogs) roomIn(tenant string, n, limit int64) error {
	if n > limit { // also when nothing of the tenant is pending
		return tooMany(n, limit, fmt.Sprintf("tenant %q", tenant))
	}
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

// Take makes n items of a bulk action pending, or refuses them.
func (q *tenantBacklogs) Take(id weir.BulkID, tenant string, n int64) error {
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

// Refused takes back what Take has counted.
func (q *tenantBacklogs) Refused(id weir.BulkID) {
	q.mu.Lock()
	delete(q.recent, id)
	q.mu.Unlock()
}

// read notes that a partition of this node has the bulk action.
func (q *tenantBacklogs) read(id weir.BulkID) {
	q.mu.Lock()
	if r := q.recent[id]; r != nil {
		r.read = true
	}
	q.mu.Unlock()
}

// Looking returns what is counted from now on by those who look.
func (q *tenantBacklogs) Looking() (read []weir.BulkID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, r := range q.recent {
		if r.read || time.Since(r.at) > unseenFor {
			read = append(read, id)
		}
	}
	return read
}

// Looked takes what all nodes have observed. It has what read names.
func (q *tenantBacklogs) Looked(seen map[string]int64, read []weir.BulkID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen = seen
	for _, id := range read {
		delete(q.recent, id)
	}
}
