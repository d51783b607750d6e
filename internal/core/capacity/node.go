// Package capacity is all that one node can start: its slots, the order of the work
// that waits for them, and the limits of the resources, with what flow control has
// found out about them.
//
// A [Node] has one queue for all of its partitions, so that tiers, weights and caps
// hold over all of them. Each partition is a [Party]: it says what it has to run,
// takes its next task, and says how tasks ended. Whoever takes a task picks for the
// others on the way; [Node.Calls] lists those for whom something was picked.
//
// The package is pure: times are Unix nanoseconds that callers pass in, and chance
// comes from a seed. Where several goroutines use a node, the methods of a Party
// take its lock; everything else is called with the lock held.
package capacity

import (
	"math/rand/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/sched"
)

// Locker is a lock around a node. Unlock is the place to tell those that were called.
type Locker interface {
	Lock()
	Unlock()
}

// noLock is for a node that one goroutine uses.
type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

// Config says what a node has.
type Config struct {
	// Slots is how many tasks it may have in flight; 0: any number.
	Slots int
	// Shared says that other nodes use the same limits: nothing with a limit starts without a quota.
	Shared bool
	// NoFlow switches flow control off.
	NoFlow bool
	// Seed starts what flow control draws.
	Seed uint64
	// Lock is taken by the methods of a Party; nil: there is no need to.
	Lock Locker
}

// Node is the capacity of one process.
type Node struct {
	cfg       Config
	lock      Locker
	queue     *sched.Queue
	resources []*Resource // in the order in which they were made
	byName    map[string]*Resource
	several   map[string]bool // tenants that have work on other nodes, too
	work      sched.Work      // reused
	stirs     limit.Stirs
	random    *rand.Rand
	before    int64 // when a former owner may last have started a task; 0: never
	calls     []*sched.Party
	seen      []flow.Seen
}

// New makes a node without resources.
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

// Slots returns how many tasks the node may have in flight.
func (n *Node) Slots() int { return n.cfg.Slots }

// InFlight returns how many it has.
func (n *Node) InFlight() int { return n.queue.InFlight() }

// Shared reports whether other nodes use the same limits.
func (n *Node) Shared() bool { return n.cfg.Shared }

// Resources lists the resources in the order in which they were made.
func (n *Node) Resources() []*Resource { return n.resources }

// Resource finds a resource by its name, or makes it.
func (n *Node) Resource(r weir.Resource) *Resource {
	if have := n.byName[r.Name]; have != nil {
		return have
	}
	made := &Resource{node: n, limits: r, seen: map[string]int64{}, gate: limit.NewGate(limit.GateConfig{Rate: float64(r.Rate), Concurrency: r.Concurrency})}
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

// SetLimits gives a resource other limits, or makes it with them.
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

// Former tells when a former owner of a partition may last have started a task,
// which has used up a part of the rates. Where limits are shared between nodes
// their books know.
func (n *Node) Former(at int64) {
	n.before = max(n.before, at)
	for _, r := range n.resources {
		r.waitOut()
	}
}

// Called reports whether anybody is to be told anything.
func (n *Node) Called() bool { return n.queue.Called() || n.stirs.Any() }

// Calls appends to dst the parties that should ask for their next task, and forgets them.
func (n *Node) Calls(dst []*Party) []*Party {
	n.calls = n.queue.Calls(n.calls[:0])
	for _, p := range n.calls {
		dst = append(dst, p.Data.(*Party))
	}
	return dst
}

// Stirred appends to dst the resources at which something has changed that whoever
// asks for their quotas should look at, and forgets them.
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
