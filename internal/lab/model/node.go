package model

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/flow"
)

// node is a machine with its slots, and the limits as it may use them.
type node struct {
	m     *machine
	no    int
	name  string
	can   *capacity.Node
	res   []*capacity.Resource // by resource
	lanes []*lane              // of its partitions
	keeps []*Keeper            // of the limits that it shares with other nodes
	calls []*capacity.Party    // reused
	stirs []*capacity.Resource // reused
}

func newNode(m *machine, no int, name string) *node {
	n := &node{m: m, no: no, name: name, can: capacity.New(capacity.Config{
		Slots: m.w.Nodes[no].Slots, Shared: len(m.w.Nodes) > 1, Seed: chance(m.w.Seed, ofFlow, no).Uint64(),
	})}
	for _, r := range m.resources {
		c := n.can.Resource(weir.Resource{Name: r.Name, Rate: weir.Rate(r.Rate), Concurrency: r.Concurrency,
			Pacing: weir.Pacing(r.Pacing)})
		switch r.Flow {
		case FlowOff:
			c.SwitchOff()
		case FlowAIMD:
			if err := c.SetRule(FlowAIMD); err != nil {
				panic("model: " + err.Error())
			}
		}
		n.res = append(n.res, c)
	}
	m.At(int64(flow.Window), n.steer)
	return n
}

// steer has flow control look at all resources.
func (n *node) steer() {
	n.can.Steer(n.m.clock())
	for _, l := range n.lanes {
		l.resize()
	}
	n.m.After(int64(flow.Window), n.steer)
}

// deliver has the partitions go on for which something was picked, and keepers look.
func (n *node) deliver() {
	for n.can.Called() {
		n.calls = n.can.Calls(n.calls[:0])
		for _, p := range n.calls {
			p.Data.(*part).dispatch()
		}
		n.stirs = n.can.Stirred(n.stirs[:0])
		for _, r := range n.stirs {
			n.stir(r)
		}
	}
}

// part is a partition.
type part struct {
	m       *machine
	node    *node
	queue   *capacity.Party
	lanes   []*lane // by resource
	stirred bool    // something has changed that may let a task start
}

func newPart(m *machine, n *node) *part {
	p := &part{m: m, node: n}
	p.queue = n.can.Join(p)
	p.queue.SetOpen(m.clock(), true)
	for _, r := range m.resources {
		l := &lane{m: m, part: p, res: r, entry: n.res[r.no]}
		p.queue.SetWorkers(m.clock(), l.entry, 0)
		l.resize()
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
