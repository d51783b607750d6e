// Package limits keeps this node within the limits of resources and tenants, those that
// it has for itself and those that all nodes share.
//
// The limits that operators set are one record, which [Read] and [Change] read and change.
// A [Control] is one node's side: what it knows of the limits ([Control.Obey] reads them), its
// capacity, which all of its partitions share, and its quotas of the limits that it shares with
// other nodes. On the leader it also allots the quotas ([Control.Allot]).
package limits

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

// Config is what a [Control] needs to know of its node.
type Config struct {
	Store    store.Store
	Shared   bool // other processes may use the store, too
	Node     string
	Slots    int
	Seed     uint64 // of flow control's random numbers
	LeaseFor time.Duration
	Log      *slog.Logger

	// Wake has the loops of all partitions look again: at limits that have changed, or, if none
	// has, at what may start now that this node knows again which limits hold.
	Wake func(changed bool)
	// Known is told of every resource that is new.
	Known func(resource string)
	// Members lists all nodes, and those among them that are silent.
	Members func() (names []string, silent map[string]bool)
	// Resting reports whether no node has anything to do, and Woken returns what is closed when that ends.
	Resting func() bool
	Woken   func() <-chan struct{}
}

// Control is what this node knows of limits, and its capacity within them. It is safe for use
// from several goroutines.
type Control struct {
	Config
	can     *locked
	reading sync.Mutex // one at a time reads the limits and has them kept

	mu      sync.Mutex
	raw     []byte                // of what operators have set, as last read
	set     record                // the same
	bounded map[string]bool       // tenants that have a bound on their pending items; never changed
	known   map[string]*knownStep // by resource: what the steps that use it say
	foreign map[string]*knownStep // by resource: what other nodes use, as far as this one has to know
	changed own.Bell              // rung when a resource is new or has other limits

	until atomic.Pointer[time.Time] // until when what was read certainly holds
}

// New makes the control of a node.
func New(c Config) *Control {
	return &Control{Config: c, can: newLocked(c.Slots, c.Shared, c.Seed), known: map[string]*knownStep{}}
}

// Run keeps this node's quotas, meets the other nodes and steers flow control, until ctx ends.
func (c *Control) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { c.keepQuotas(ctx) })
	work.Go(func() { c.meetOthers(ctx) })
	work.Go(func() { c.steer(ctx) })
	work.Wait()
}

// knownStep is a resource as the steps say, and the largest batch among them.
type knownStep struct {
	resource weir.Resource
	batch    int
}

// Learn notes the resource of a step. The first limits that are seen hold, until operators set others.
func (c *Control) Learn(s *weir.Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[s.Resource.Name]
	if k == nil {
		k = &knownStep{resource: s.Resource}
		c.known[s.Resource.Name] = k
		c.changed.Ring()
		c.Known(s.Resource.Name)
	}
	k.batch = max(k.batch, s.BatchSize)
}

// InForce returns a resource with the limits that this node keeps to now.
func (c *Control) InForce(r weir.Resource) weir.Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.known[r.Name]; k != nil {
		r = k.resource
	}
	return c.set.Resource(r)
}

// Tenant returns what a tenant may use.
func (c *Control) Tenant(name string) weir.TenantLimits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set.Tenant(name)
}

// Weight returns what a tenant has beside others.
func (c *Control) Weight(tenant string) float64 { return cmp.Or(c.Tenant(tenant).Weight, 1) }

// Bounded returns the tenants that have a bound on their pending items. The caller must not change it.
func (c *Control) Bounded() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bounded
}

// Version returns that of the limits which this node keeps to.
func (c *Control) Version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set.Version
}

// All returns the resources of this node and, on a leader, those of the others, with the limits
// that hold now, by name.
func (c *Control) All() map[string]weir.Resource {
	out := map[string]weir.Resource{}
	for r := range c.allResources() {
		out[r.Name] = r
	}
	return out
}

// resources are the known ones, each with the largest batch of the steps that use it.
func (c *Control) resources() map[weir.Resource]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.batches(c.known)
}

// allResources are those of this node and, on a leader, those of the others.
func (c *Control) allResources() map[weir.Resource]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]*knownStep{}
	maps.Copy(all, c.foreign)
	maps.Copy(all, c.known)
	return c.batches(all)
}

// batches gives resources the limits that hold now. The caller holds the lock.
func (c *Control) batches(steps map[string]*knownStep) map[weir.Resource]int {
	batch := make(map[weir.Resource]int, len(steps))
	for _, k := range steps {
		batch[c.set.Resource(k.resource)] = k.batch
	}
	return batch
}

// LearnOthers notes the resources that other nodes use: a leader divides their
// limits, whether or not it has seen work of them.
func (c *Control) LearnOthers(nodes []weir.Node) {
	others := map[string]*knownStep{}
	for i := range nodes {
		n := &nodes[i]
		for j := range n.Resources {
			u := &n.Resources[j]
			others[u.Name] = &knownStep{resource: weir.Resource{Name: u.Name, Rate: weir.Rate(u.Rate),
				Concurrency: u.Concurrency, Pacing: u.Pacing}, batch: 1}
		}
		for j := range n.Lanes {
			if k := others[n.Lanes[j].ID.Resource]; k != nil {
				k.batch = max(k.batch, n.Lanes[j].Chunk)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	same := maps.EqualFunc(c.foreign, others, func(a, b *knownStep) bool { return *a == *b })
	if c.foreign = others; !same {
		c.changed.Ring()
	}
}

// Former counts what an earlier owner of a partition started last, at a time, against the rates.
func (c *Control) Former(at int64) { c.can.do(func(n *capacity.Node) { n.Former(at) }) }

// Join adds a partition to those that share the capacity of this node.
func (c *Control) Join(p Caller) *capacity.Party { return c.can.node.Join(p) }
