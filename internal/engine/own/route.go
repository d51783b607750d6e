package own

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/internal/engine/loss"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
	"github.com/zeebo/xxh3"
)

// Router chooses where new work goes.
type Router struct {
	layout *Layout
	fleet  *Fleet
	losses *loss.Book
	store  routed
	local  func(partition int) *Tenure // of a partition that this node runs
	placed placed
}

// routed is what a router needs of a store.
type routed interface {
	store.Inbox
	store.State
}

// Place is where a submit goes, and the generation of the map that says so.
type Place struct {
	Partition  int
	Generation uint64
}

// Place chooses the partition of a submit. One with an idempotency key goes where the
// key says, so that the same key always meets itself there, or where it was used
// before by an earlier map.
func (r *Router) Place(ctx context.Context, tenant, key string) (Place, error) {
	if err := r.lookAgain(ctx); err != nil {
		return Place{}, err
	}
	m := r.layout.Now()
	n, generation := m.Serving()
	table := r.layout.Table(n)
	if key == "" {
		p, err := r.choose(ctx, table, tenant)
		return Place{p, generation}, err
	}
	for _, before := range m.Before {
		p := r.layout.Table(before).Keyed(tenant, key)
		_, err := r.store.Claimed(ctx, p, stored.ClaimKey(tenant, key))
		if err == nil {
			return Place{p, generation}, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return Place{}, fmt.Errorf("look up idempotency key: %w", err)
		}
	}
	return Place{table.Keyed(tenant, key), generation}, nil
}

// lookAgainAfter is how old the knowledge of the map and of the partitions' load may be. An engine that runs looks sooner.
const lookAgainAfter = restEvery + restEvery/2

// lookAgain reads the map and who has how much to do, if that was long ago: an
// engine that only submits does not hear of it otherwise.
func (r *Router) lookAgain(ctx context.Context) error {
	if time.Since(*r.layout.read.Load()) < lookAgainAfter {
		return nil
	}
	if _, _, err := r.layout.Read(ctx); err != nil {
		return err
	}
	return r.fleet.Look(ctx)
}

// littleWork is how many pending items are done so soon that it does not matter which of two partitions has them.
const littleWork = 10_000

// choose takes one of a tenant's two partitions: where it is at work already, so
// that it is in one queue and gains nothing by being in two, or else the one with
// less to do. If both have little to do it is the first, and the store is not asked. A stopped partition is never chosen.
func (r *Router) choose(ctx context.Context, t *route.Table, tenant string) (int, error) {
	a, b, err := r.candidates(t, tenant)
	if err != nil || a == b {
		return a, err
	}
	if p := r.placed.find(tenant); p == a || p == b {
		return p, nil
	}
	if r.backlog(a) < littleWork && r.backlog(b) < littleWork {
		return a, nil
	}
	inA, err := partition.TenantActive(stored.At(ctx, r.store, a), tenant)
	if err != nil {
		return 0, err
	}
	inB, err := partition.TenantActive(stored.At(ctx, r.store, b), tenant)
	if err != nil {
		return 0, err
	}
	p := a
	switch {
	case inA == inB:
		p = route.Choose(a, b, r.backlog)
	case inB:
		p = b
	}
	r.placed.note(tenant, p)
	return p, nil
}

// candidates returns the partitions that a tenant's bulk action may go to. If one of
// its two is stopped, that is the other alone; if both are, the first of the
// others that runs. It returns a *[weir.LossError] if all partitions are stopped.
func (r *Router) candidates(t *route.Table, tenant string) (a, b int, err error) {
	a, b = t.Candidates(tenant)
	lossA, stoppedA := r.losses.Of(a)
	_, stoppedB := r.losses.Of(b)
	switch {
	case !stoppedA && !stoppedB:
		return a, b, nil
	case !stoppedA:
		return a, a, nil
	case !stoppedB:
		return b, b, nil
	}
	others := r.losses.Without(route.Shards(tenant, a, t.Partitions(), t.Partitions()))
	if len(others) == 0 {
		return a, a, lossA.Err()
	}
	return others[0], others[0], nil
}

// backlog is how many items a partition has to do, as far as is known.
func (r *Router) backlog(p int) float64 {
	if t := r.local(p); t != nil {
		return float64(t.Pending.Load())
	}
	return float64(r.fleet.pending(p))
}

// placed remembers where tenants were put a moment ago: their owner may not have
// read of it yet. One that is forgotten too early costs a look at the store.
type placed struct {
	mu   sync.Mutex
	seen [1024]struct {
		tenant    string
		partition int
		until     time.Time
	}
}

const placedFor = time.Second

// find returns the partition in which a tenant was put, -1 if that is not known.
func (l *placed) find(tenant string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := &l.seen[xxh3.HashString(tenant)%uint64(len(l.seen))]; s.tenant == tenant && time.Now().Before(s.until) {
		return s.partition
	}
	return -1
}

func (l *placed) note(tenant string, partition int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.seen[xxh3.HashString(tenant)%uint64(len(l.seen))]
	s.tenant, s.partition, s.until = tenant, partition, time.Now().Add(placedFor)
}

// Shards says which partitions work on a bulk action together, its home
// first; nil: the home alone.
func (r *Router) Shards(c *partition.Created, home int) []int {
	partitions, _ := r.layout.Now().Serving()
	n := route.ShardsFor(c.Items, route.MostShards(partitions))
	if c.Concurrency > 0 {
		n = min(n, c.Concurrency) // each of them runs a task at least
	}
	if n < 2 {
		return nil
	}
	shards := r.losses.Without(route.Shards(c.Tenant, home, partitions, partitions)[1:])
	shards = append([]int{home}, shards...)
	if n = min(n, len(shards)); n < 2 {
		return nil
	}
	return shards[:n]
}
