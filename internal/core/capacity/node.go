// Package capacity manages what one node can start: its slots, the order of the work that waits
// for them, and the limits of the resources, with what flow control has learned about them.
//
// A [Node] has one queue for all of its partitions, so that tiers, weights and caps hold over
// all of them. Each partition is a [Party]: it reports what it has to run, takes its next task,
// and reports how tasks ended. A party that takes a task also picks tasks of others that come
// before it; [Node.Calls] lists the parties with such tasks.
//
// The package is pure: times are Unix nanoseconds passed in by callers, and random numbers come
// from a seed. Where several goroutines use a node, the methods of a Party take its lock; all
// other methods are called with the lock held. DESIGN.md has the invariants that cross files.
package capacity

import (
	"math/rand/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/sched"
)

// Locker is a lock around a node. Unlock is the place to wake the parties that were called.
type Locker interface {
	Lock()
	Unlock()
}

// noLock is for a node that is used by one goroutine.
type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

// Config configures a node.
type Config struct {
	// Slots is the maximum number of tasks in flight; 0: unbounded.
	Slots int
	// Shared: other nodes use the same limits, so nothing with a limit starts without a quota.
	Shared bool
	// NoFlow switches flow control off.
	NoFlow bool
	// Seed seeds the random numbers of flow control.
	Seed uint64
	// Lock is taken by the methods of a Party. Default: no lock, for a single goroutine.
	Lock Locker
}

// Node is the capacity of one process.
type Node struct {
	cfg       Config
	lock      Locker
	queue     *sched.Queue
	resources []*Resource // in order of creation
	byName    map[string]*Resource
	several   map[string]bool // tenants with work on other nodes as well
	work      sched.Work      // reused
	stirs     limit.Stirs
	random    *rand.Rand
	before    int64 // when an earlier owner may last have started a task; 0: never
	calls     []*sched.Party
	seen      []flow.Seen
}

// New returns a node without resources.
func New(c Config) *Node {
	n := &Node{
		cfg: c, lock: c.Lock, queue: sched.New(sched.Options{Slots: c.Slots}), byName: map[string]*Resource{},
		random: rand.New(rand.NewPCG(c.Seed, 0)),
	}
	if n.lock == nil {
		n.lock = noLock{}
	}
	return n
}

// Slots returns the maximum number of tasks in flight.
func (n *Node) Slots() int { return n.cfg.Slots }

// InFlight returns the number of tasks in flight.
func (n *Node) InFlight() int { return n.queue.InFlight() }

// Shared reports whether other nodes use the same limits.
func (n *Node) Shared() bool { return n.cfg.Shared }

// Resources returns the resources in order of creation.
func (n *Node) Resources() []*Resource { return n.resources }

// Resource returns the resource of that name, and adds it if it is missing.
func (n *Node) Resource(r weir.Resource) *Resource {
	if have := n.byName[r.Name]; have != nil {
		return have
	}
	made := &Resource{node: n, limits: r, seen: map[string]int64{},
		gate: limit.NewGate(limit.GateConfig{Rate: float64(r.Rate), Concurrency: r.Concurrency})}
	if !n.cfg.NoFlow {
		made.control = newControl(r.Concurrency, n.random.Uint64(), n.random.Uint64())
	}
	if n.cfg.Shared {
		made.gate.Share(&n.stirs)
	}
	made.entry = n.queue.AddResource(sched.ResourceConfig{Name: r.Name, Rate: float64(r.Rate), Gate: made})
	n.byName[r.Name] = made
	n.resources = append(n.resources, made)
	made.waitOut()
	return made
}

// SetLimits changes the limits of a resource, and adds it if it is missing.
func (n *Node) SetLimits(now int64, r weir.Resource) {
	have := n.Resource(r)
	if have.limits == r {
		return
	}
	n.queue.Recall(now)
	if have.limits.Rate != r.Rate {
		have.gate.SetRate(now, float64(r.Rate))
		n.queue.SetRate(now, have.entry, float64(r.Rate))
	}
	if have.limits.Concurrency != r.Concurrency {
		have.gate.SetConcurrency(r.Concurrency)
	}
	have.limits = r
	have.wake()
}

// Former records when an earlier owner of a partition may last have started a task, which has
// used up a part of the rates. Limits shared between nodes account for that themselves.
func (n *Node) Former(at int64) {
	n.before = max(n.before, at)
	for _, r := range n.resources {
		r.waitOut()
	}
}

// Called reports whether Calls or Stirred has anything to return.
func (n *Node) Called() bool { return n.queue.Called() || n.stirs.Any() }

// Calls appends to dst the parties that should ask for their next task, and clears the list.
func (n *Node) Calls(dst []*Party) []*Party {
	n.calls = n.queue.Calls(n.calls[:0])
	for _, p := range n.calls {
		dst = append(dst, p.Data.(*Party))
	}
	return dst
}

// Stirred appends to dst the resources with a change that matters to the caller that requests
// their quotas, and clears the list.
func (n *Node) Stirred(dst []*Resource) []*Resource {
	if !n.stirs.Any() {
		return dst
	}
	for _, g := range n.stirs.Take(nil) {
		for _, r := range n.resources {
			if r.gate == g {
				dst = append(dst, r)
			}
		}
	}
	return dst
}
