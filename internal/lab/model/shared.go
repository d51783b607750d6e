package model

import (
	"time"

	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/internal/lab/virtual"
	"github.com/weirhq/weir/store"
)

const (
	// allotEvery is how often the leader looks at what nodes hold.
	allotEvery = int64(250 * time.Millisecond)
	// rewriteAfter is how long targets stand that have not changed before they are written again.
	rewriteAfter = second
)

// Shared is a limit that nodes share through a store, in virtual time. The books, the keepers and
// the plans are the real ones; what is made up is how long messages take.
type Shared struct {
	Limit store.Limit
	Chunk int64
	TTL   time.Duration // of what a node holds without renewing it

	clock   *virtual.Clock
	base    int64 // what the core takes for the time when the clock is at 0
	way     func() int64
	table   *quota.Table
	keepers []*Keeper
	lead    *leader
}

// NewShared returns a limit without nodes. way says how long a message is on its way.
func NewShared(c *virtual.Clock, base int64, l store.Limit, chunk int64, ttl time.Duration, way func() int64) *Shared {
	return &Shared{Limit: l, Chunk: chunk, TTL: ttl, clock: c, base: base, way: way, table: quota.New(l)}
}

func (s *Shared) now() int64 { return s.base + s.clock.Now() }

// call makes a call of the store, and takes its answer.
func (s *Shared) call(way func() int64, do func() (answer func())) {
	s.clock.After(way(), func() {
		answer := do()
		s.clock.After(way(), answer)
	})
}

// Forget replaces the books of the store by empty ones that learn.
func (s *Shared) Forget() {
	s.table = quota.New(s.Limit)
	s.table.Learn(s.now() + int64(s.TTL+s.Limit.Window))
}

// leader sets targets for all nodes.
type leader struct {
	*Shared
	mails func() int64
	plan  *quota.Planner
	epoch uint64
	wrote int64
}

// Elect has a leader begin that knows nothing, and whose messages take as long as mails says. The one before,
// if there is one, ends.
func (s *Shared) Elect(mails func() int64) {
	var epoch uint64 = 1
	if s.lead != nil {
		epoch = s.lead.epoch + 1
	}
	s.lead = &leader{Shared: s, mails: mails, plan: quota.NewPlanner(s.Limit, s.Chunk), epoch: epoch}
	s.lead.cycle()
}

// Depose ends the leader.
func (s *Shared) Depose() { s.lead = &leader{epoch: s.lead.epoch} }

func (l *leader) cycle() {
	if l.lead != l {
		return
	}
	l.call(l.mails, func() func() {
		holdings := l.table.Holdings(l.now())
		return func() {
			targets, changed := l.plan.Plan(l.now(), l.members(), holdings, nil)
			if l.lead == l && (changed || l.now()-l.wrote > rewriteAfter) {
				l.wrote = l.now()
				l.call(l.mails, func() func() {
					_ = l.table.SetTargets(l.epoch, targets) // a later leader refuses it
					return func() {}
				})
			}
		}
	})
	l.clock.After(allotEvery, l.cycle)
}

func (s *Shared) members() (names []string) {
	for _, k := range s.keepers {
		if !k.dead {
			names = append(names, k.name)
		}
	}
	return names
}

// Keeper is one node's side of a shared limit.
type Keeper struct {
	*Shared
	name    string
	of      *capacity.Resource
	changed func()
	keeper  *quota.Keeper
	wakeAt  int64
	dead    bool
}

// Join adds a node that uses its part of the limit for a resource. changed, if not nil, is called when that part
// may have grown.
func (s *Shared) Join(name string, r *capacity.Resource, changed func()) *Keeper {
	k := &Keeper{Shared: s, name: name, of: r, changed: changed, keeper: quota.NewKeeper(s.Limit, name, s.TTL, s.Chunk)}
	s.keepers = append(s.keepers, k)
	return k
}

// Die ends the node without a word.
func (k *Keeper) Die() { k.dead = true }

// Look asks the store for what the keeper wants, and comes back when it says so.
func (k *Keeper) Look() {
	if k.dead {
		return
	}
	now := k.now()
	a := k.keeper.Next(now, k.of.Observe(now, k.Limit.Window == 0))
	k.apply(now)
	if a.Draw > 0 {
		k.call(k.way, func() func() {
			after, ok := k.table.Draw(k.now(), a.Draw)
			return func() { k.drew(after, ok) }
		})
	}
	if a.Hold {
		k.call(k.way, func() func() {
			units := k.table.Hold(k.now(), a.Holding, a.TTL)
			return func() { k.held(units) }
		})
	}
	if a.Wake == limit.Never {
		return
	}
	at := max(a.Wake-k.base, k.clock.Now()+1)
	if k.wakeAt > k.clock.Now() && k.wakeAt <= at {
		return // it will come by anyhow
	}
	k.wakeAt = at
	k.clock.At(at, func() {
		if k.wakeAt == at {
			k.Look()
		}
	})
}

// apply lets the node use what the keeper has.
func (k *Keeper) apply(now int64) {
	units, until := k.keeper.Quota()
	if k.Limit.Window == 0 {
		k.of.SetSlotQuota(now, units, until)
	} else {
		k.of.SetQuota(now, units, until)
	}
}

func (k *Keeper) held(units int64) {
	k.keeper.Held(k.now(), units, nil)
	k.apply(k.now())
	k.more()
}

func (k *Keeper) drew(after time.Duration, ok bool) {
	if units, from, until, usable := k.keeper.Drew(k.now(), after, ok, nil); usable {
		k.of.Permit(units, from, until)
	}
	k.more()
}

// more uses what was granted.
func (k *Keeper) more() {
	if k.changed != nil {
		k.changed()
	}
	k.Look()
}
