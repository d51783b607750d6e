package model

import (
	"slices"
	"time"

	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/store"
)

const (
	// allotEvery is how often the leader looks at what nodes hold.
	allotEvery = int64(250 * time.Millisecond)
	// meetEvery is how often nodes tell each other what they have to run.
	meetEvery = int64(500 * time.Millisecond)
	// quotaFor is how long a quota lasts without being renewed.
	quotaFor = 1200 * time.Millisecond
	// slotsFor is the same for a concurrency.
	slotsFor = 10 * time.Second
	// message is how long a question or an answer is on its way.
	message = int64(2 * time.Millisecond)
)

// shared is a limit that several nodes share.
type shared struct {
	m     *machine
	res   *resource
	limit store.Limit
	table *quota.Table
	plan  *quota.Planner
	names []string
}

// keeper is one node's side of a shared limit.
type keeper struct {
	*shared
	node   *node
	of     *capacity.Resource
	keeper *quota.Keeper
	wakeAt int64
}

// shareLimits puts the limits of all resources on quotas, if there are several nodes.
func (m *machine) shareLimits() {
	if len(m.nodes) < 2 {
		return
	}
	m.At(0, m.meet)
	for _, r := range m.resources {
		if r.Rate > 0 {
			items, window := limit.PerWindow(float64(r.Rate))
			m.shareLimit(r, store.Limit{Resource: r.Name, Units: items, Window: window},
				int64(limit.Grain(float64(r.Rate), m.widestBatch(r))), quotaFor)
		}
		if r.Concurrency > 0 {
			m.shareLimit(r, store.Limit{Resource: r.Name, Units: int64(r.Concurrency)}, 1, slotsFor)
		}
	}
}

// widestBatch is the largest batch of the bulk actions that use a resource.
func (m *machine) widestBatch(r *resource) int {
	most := 1
	for _, b := range m.w.BulkActions {
		for _, s := range b.Steps {
			if s == r.Name {
				most = max(most, b.Batch)
			}
		}
	}
	return most
}

func (m *machine) shareLimit(r *resource, l store.Limit, chunk int64, ttl time.Duration) {
	s := &shared{m: m, res: r, limit: l, table: quota.New(l), plan: quota.NewPlanner(l, chunk)}
	for _, n := range m.nodes {
		k := &keeper{shared: s, node: n, of: n.res[r.no], keeper: quota.NewKeeper(l, n.name, ttl, chunk)}
		n.keeps = append(n.keeps, k)
		s.names = append(s.names, n.name)
		m.At(0, k.next)
	}
	m.At(0, s.allot)
}

// meet has the nodes tell each other what they have to run.
func (m *machine) meet() {
	wants := make([]capacity.Wants, len(m.nodes))
	for i, n := range m.nodes {
		wants[i] = n.can.Wants(m.clock())
	}
	m.After(message, func() {
		for i, n := range m.nodes {
			n.can.SetBeside(capacity.Gather(slices.Concat(wants[:i], wants[i+1:])))
		}
	})
	m.After(meetEvery, m.meet)
}

// allot is the leader's look at a limit.
func (s *shared) allot() {
	now := s.m.clock()
	if targets, changed := s.plan.Plan(now, s.names, s.table.Holdings(now), nil); changed {
		if err := s.table.SetTargets(1, targets); err != nil {
			panic("model: a leader that is alone was refused: " + err.Error())
		}
	}
	s.m.After(allotEvery, s.allot)
}

// stir lets the keepers of a resource look that has changed.
func (n *node) stir(r *capacity.Resource) {
	for _, k := range n.keeps {
		if k.of == r {
			n.m.At(n.m.Now(), k.next)
		}
	}
}

// next asks the store for what the keeper wants, and comes back when it says so.
func (k *keeper) next() {
	m, now := k.m, k.m.clock()
	a := k.keeper.Next(now, k.of.Observe(now, k.limit.Window == 0))
	k.apply(now)
	if a.Draw > 0 {
		m.After(message, func() {
			after, ok := k.table.Draw(m.clock(), a.Draw)
			m.After(message, func() { k.drew(after, ok) })
		})
	}
	if a.Hold {
		m.After(message, func() {
			units := k.table.Hold(m.clock(), a.Holding, a.TTL)
			m.After(message, func() { k.held(units) })
		})
	}
	if a.Wake == limit.Never {
		return
	}
	at := max(a.Wake-epoch, m.Now()+1)
	if k.wakeAt > m.Now() && k.wakeAt <= at {
		return // it will come by anyhow
	}
	k.wakeAt = at
	m.At(at, func() {
		if k.wakeAt == at {
			k.next()
		}
	})
}

// apply lets the lanes use what the keeper has.
func (k *keeper) apply(now int64) {
	units, until := k.keeper.Quota()
	if k.limit.Window == 0 {
		k.of.SetSlotQuota(now, units, until)
	} else {
		k.of.SetQuota(now, units, until)
	}
}

func (k *keeper) held(units int64) {
	now := k.m.clock()
	k.keeper.Held(now, units, nil)
	k.apply(now)
	k.next()
}

func (k *keeper) drew(after time.Duration, ok bool) {
	now := k.m.clock()
	if units, from, until, usable := k.keeper.Drew(now, after, ok, nil); usable {
		k.of.Permit(units, from, until)
	}
	k.next()
}
