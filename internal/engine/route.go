package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/store"
	"github.com/zeebo/xxh3"
)

// place is where a submit goes, and the generation of the map that says so.
type place struct {
	partition  int
	generation uint64
}

// place chooses the partition of a submit. One with an idempotency key goes where the
// key says, so that the same key always meets itself there, or where it was used
// before by an earlier map.
func (e *Engine) place(ctx context.Context, tenant, key string) (place, error) {
	if err := e.lookAgain(ctx); err != nil {
		return place{}, err
	}
	m := e.layout.now()
	n, generation := m.serving()
	table := e.layout.table(n)
	if key == "" {
		p, err := e.choose(ctx, table, tenant)
		return place{p, generation}, err
	}
	for _, before := range m.Before {
		p := e.layout.table(before).Keyed(tenant, key)
		_, err := e.store.Claimed(ctx, p, claimKey(tenant, key))
		if err == nil {
			return place{p, generation}, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return place{}, fmt.Errorf("look up idempotency key: %w", err)
		}
	}
	return place{table.Keyed(tenant, key), generation}, nil
}

// lookAgainAfter is how old the knowledge of the map and of the partitions' load may be.
const lookAgainAfter = time.Second

// lookAgain reads the map and who has how much to do, if that was long ago: an
// engine that only submits does not hear of it otherwise.
func (e *Engine) lookAgain(ctx context.Context) error {
	if time.Since(*e.layout.read.Load()) < lookAgainAfter {
		return nil
	}
	if _, _, err := e.readLayout(ctx); err != nil {
		return err
	}
	return e.lookAround(ctx)
}

// choose takes one of a tenant's two partitions: where it is at work already, so
// that it is in one queue and gains nothing by being in two, or else the one with
// less to do. A stopped partition is never chosen.
func (e *Engine) choose(ctx context.Context, t *route.Table, tenant string) (int, error) {
	a, b, err := e.candidates(t, tenant)
	if err != nil || a == b {
		return a, err
	}
	if p := e.placed.find(tenant); p == a || p == b {
		return p, nil
	}
	inA, err := partition.TenantActive(rows{ctx, e.store, a}, tenant)
	if err != nil {
		return 0, err
	}
	inB, err := partition.TenantActive(rows{ctx, e.store, b}, tenant)
	if err != nil {
		return 0, err
	}
	p := a
	switch {
	case inA == inB:
		p = route.Choose(a, b, e.backlog)
	case inB:
		p = b
	}
	e.placed.note(tenant, p)
	return p, nil
}

// candidates returns the partitions that a tenant's bulk action may go to. If one of
// its two is stopped, that is the other alone; if both are, the first of the
// others that runs. It returns a *[weir.LossError] if all partitions are stopped.
func (e *Engine) candidates(t *route.Table, tenant string) (a, b int, err error) {
	a, b = t.Candidates(tenant)
	lossA, stoppedA := e.losses.of(a)
	_, stoppedB := e.losses.of(b)
	switch {
	case !stoppedA && !stoppedB:
		return a, b, nil
	case !stoppedA:
		return a, a, nil
	case !stoppedB:
		return b, b, nil
	}
	others := e.losses.without(route.Shards(tenant, a, t.Partitions(), t.Partitions()))
	if len(others) == 0 {
		return a, a, lossA.error()
	}
	return others[0], others[0], nil
}

// backlog is how many items a partition has to do, as far as is known.
func (e *Engine) backlog(p int) float64 {
	if own := e.parts[p].Load(); own != nil {
		return float64(own.pending.Load())
	}
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	most := int64(0)
	for _, n := range e.fleet.nodes {
		most = max(most, n.Pending[p])
	}
	return float64(most)
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

// shardsFor says which partitions work on a bulk action together, its home
// first; nil: the home alone.
func (e *Engine) shardsFor(c *partition.Created, home int) []int {
	partitions, _ := e.layout.now().serving()
	n := route.ShardsFor(c.Items, route.MostShards(partitions))
	if c.Concurrency > 0 {
		n = min(n, c.Concurrency) // each of them runs a task at least
	}
	if n < 2 {
		return nil
	}
	shards := e.losses.without(route.Shards(c.Tenant, home, partitions, partitions)[1:])
	shards = append([]int{home}, shards...)
	if n = min(n, len(shards)); n < 2 {
		return nil
	}
	return shards[:n]
}
