package model

import (
	"github.com/weirhq/weir/internal/limit"
	"github.com/weirhq/weir/internal/sched"
)

// node is a machine with its slots, and the limits as it may use them.
type node struct {
	m     *machine
	no    int
	name  string
	pool  *limit.Pool
	res   []*limit.PoolResource // by resource
	lanes []*lane               // of its partitions
	wakes []*limit.Lane         // reused
	keeps []*keeper             // of the limits that it shares with other nodes
	stirs []*limit.PoolResource // reused
}

func newNode(m *machine, no int, name string) *node {
	n := &node{m: m, no: no, name: name, pool: limit.NewPool(m.w.Nodes[no].Slots)}
	for _, r := range m.resources {
		n.res = append(n.res, n.pool.Resource(limit.ResourceConfig{Name: r.Name, Rate: float64(r.Rate), Concurrency: r.Concurrency}))
	}
	return n
}

// deliver tells lanes that the pool has woken to ask again, and keepers to look.
func (n *node) deliver() {
	for {
		n.wakes = n.pool.Wakes(n.wakes[:0])
		if len(n.wakes) == 0 {
			break
		}
		for _, l := range n.wakes {
			p := n.m.parts[l.Partition()]
			for _, lane := range p.lanes {
				if lane.pooled == l {
					p.queue.WakeResource(n.m.clock(), lane.entry)
				}
			}
			p.dispatch()
		}
	}
	if len(n.keeps) > 0 {
		n.stir()
	}
}

// part is a partition.
type part struct {
	m       *machine
	node    *node
	queue   *sched.Queue
	lanes   []*lane // by resource
	stirred bool    // something has changed that may let a task start
}

func newPart(m *machine, n *node, no int) *part {
	p := &part{m: m, node: n, queue: sched.New(sched.Options{Slots: m.w.Nodes[n.no].Slots})}
	for _, r := range m.resources {
		l := newLane(m, p, r, n.pool.Lane(n.res[r.no], no))
		l.entry = p.queue.AddResource(sched.ResourceConfig{Name: r.Name, Rate: float64(r.Rate), Gate: l})
		l.scale(m.w.Workers.Start)
		p.lanes, n.lanes, r.lanes = append(p.lanes, l), append(n.lanes, l), append(r.lanes, l)
	}
	return p
}

// dispatch starts all that may start now.
func (p *part) dispatch() {
	p.stirred = false
	for {
		pick, ok := p.queue.Next(p.m.clock())
		if !ok {
			return
		}
		p.m.start(pick)
	}
}
