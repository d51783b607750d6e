package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/partition"
)

// node is one process: it owns partitions, crashes, pauses and drains.
type node struct {
	w        *World
	no       int
	random   *rand.Rand
	up       bool
	life     int // rises with every crash: what was meant for an earlier life is lost
	paused   bool
	drains   bool
	held     []func()
	capacity *capacity.Node
	running  int                // tasks in flight
	meters   map[string]*meter  // by resource
	inLane   map[string][]int64 // when the tasks that the machines know of began, by resource
	ofTenant map[string]int     // and by tenant
	tenants  tenantLimits       // that its machines were told of
	parts    []*owner
	left     []departed // lately
	turns    partition.Turns[*owner]
	knowing  bool // knows every chain
}

func (w *World) lease() time.Duration { return time.Duration(w.plan.lease) }

// start boots the node: an empty memory, and it looks for partitions to own.
func (n *node) start() {
	if n.up || n.w.healed && n.w.plan.lonely && n.no > 0 {
		return
	}
	n.up, n.paused, n.drains, n.running = true, false, false, 0
	n.life++
	n.w.trace.add(event{what: evStart, node: n.no, partition: -1, a: int64(n.life)})
	n.capacity = capacity.New(capacity.Config{Slots: n.w.plan.slots, NoFlow: true})
	for _, r := range n.w.resources() {
		n.capacity.Resource(n.w.limitsOf(r))
	}
	n.meters, n.inLane, n.ofTenant, n.tenants = map[string]*meter{}, map[string][]int64{}, map[string]int{}, tenantLimits{}
	n.parts, n.left = make([]*owner, n.w.plan.partitions), nil
	n.turns = partition.Turns[*owner]{}
	n.knowing = n.w.healed || n.w.plan.stale != n.no
	for p := range n.parts {
		n.after(between(n.random, 0, 50*millis), func() { n.seek(p) })
	}
}

func (n *node) name() string { return fmt.Sprintf("n%d.%d", n.no, n.life) }

func (n *node) owner(p int) *owner {
	if !n.up {
		return nil
	}
	return n.parts[p]
}

// after has f called on this node when d has passed, unless it has died by then.
func (n *node) after(d int64, f func()) {
	life := n.life
	n.w.After(d, func() { n.deliver(life, f) })
}

// deliver calls f in the given life of the node. A paused node gets to it later.
func (n *node) deliver(life int, f func()) {
	switch {
	case n.life != life || !n.up:
	case n.paused:
		n.held = append(n.held, f)
	default:
		f()
	}
}

// seek asks for the lease of a partition until it is this node's.
func (n *node) seek(p int) {
	if n.drains || n.parts[p] != nil {
		return
	}
	again := func() { n.after(n.w.plan.lease/10, func() { n.seek(p) }) }
	tok, err := n.w.ledger.acquire(n.w, p, n.name())
	if err != nil {
		again()
		return
	}
	o := newOwner(n, p, tok)
	if o.load() != nil {
		again()
		return
	}
	n.parts[p] = o
	n.turns.Join(o)
	o.begin()
}

// steps finds a chain. A node that runs an older program does not know the last one.
func (n *node) steps(name string) []weir.Step {
	if !n.knowing && name == n.w.plan.names[len(n.w.plan.names)-1] {
		return nil
	}
	if n.w.plan.varies && n.life%4 >= 2 {
		return n.w.plan.smaller[name]
	}
	return n.w.plan.chains[name]
}

// crash loses the node's memory. It is back after the given time; negative: never.
func (n *node) crash(back int64) {
	if !n.up {
		return
	}
	w := n.w
	w.trace.add(event{what: evCrash, node: n.no, partition: -1})
	n.up, n.paused, n.held = false, false, nil
	n.life++
	for _, o := range n.parts {
		if o != nil {
			o.gone = true
			w.bereave(o)
		}
	}
	if back >= 0 {
		w.After(back, n.start)
	}
}

// pause stops the node's processor. Its calls and commits on the way go on.
func (n *node) pause(d int64) {
	if !n.up || n.paused {
		return
	}
	n.w.trace.add(event{what: evPause, node: n.no, partition: -1, a: d})
	n.w.outlived++
	n.paused = true
	life := n.life
	n.w.After(d, func() {
		if n.life == life {
			n.wakeUp()
		}
	})
}

// wakeUp ends a pause: everything that was held back happens now, in order.
func (n *node) wakeUp() {
	if !n.paused {
		return
	}
	n.w.trace.add(event{what: evWakeUp, node: n.no, partition: -1})
	n.paused = false
	held, life := n.held, n.life
	n.held = nil
	for _, f := range held {
		n.deliver(life, f)
	}
}

// drain stops the node cleanly and starts it anew a little later.
func (n *node) drain(back int64) {
	if !n.up || n.paused || n.drains {
		return
	}
	n.w.trace.add(event{what: evDrain, node: n.no, partition: -1})
	n.drains = true
	for _, o := range n.parts {
		if o != nil {
			o.stop()
		}
	}
	n.after(n.w.plan.drain+back, n.reopen)
}

// reopen looks for partitions again after a drain.
func (n *node) reopen() {
	n.drains = false
	for p, o := range n.parts {
		if o == nil {
			n.seek(p)
		}
	}
}

// planFaults draws when which node fails.
func (w *World) planFaults() {
	type act struct {
		every int64
		do    func(n *node)
	}
	for _, a := range []act{
		{w.plan.node.crash, func(n *node) { w.otherDeaths++; n.crash(between(w.faults, 100*millis, 5*second)) }},
		{w.plan.node.pause, func(n *node) { n.pause(between(w.faults, 0, 3*w.plan.lease)) }},
		{w.plan.node.drain, func(n *node) { n.drain(between(w.faults, 0, 2*second)) }},
	} {
		if a.every == 0 {
			continue
		}
		for _, n := range w.nodes {
			for t := between(w.faults, 0, 2*a.every); t < faultTime; t += between(w.faults, a.every/10, 2*a.every) {
				w.After(t, func() { a.do(n) })
			}
		}
	}
}
