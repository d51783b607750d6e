package sim

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/limit"
	"github.com/weirhq/weir/internal/sched"
)

// gate is a partition's way to a resource that the node's partitions share.
type gate struct {
	node *node
	lane *limit.Lane
}

func (o *owner) gate(r weir.Resource) sched.Gate {
	p := o.node.pool
	g := &gate{o.node, p.Lane(p.Resource(poolConfig(o.w.limitsOf(r))), o.partition)}
	o.gates[r.Name] = g
	return g
}

func poolConfig(r weir.Resource) limit.ResourceConfig {
	return limit.ResourceConfig{Name: r.Name, Rate: float64(r.Rate), Concurrency: r.Concurrency}
}

// Peek implements sched.Gate.
func (g *gate) Peek(now int64) int64 {
	at := g.node.pool.Peek(now, g.lane)
	g.node.wakes()
	return at
}

// Take implements sched.Gate.
func (g *gate) Take(now int64, cost int, weight int64, express bool) (int64, bool) {
	at, ok := g.node.pool.Take(now, g.lane, cost, weight, express)
	g.node.wakes()
	return at, ok
}

// SetWorkers implements sched.Scaler.
func (g *gate) SetWorkers(now int64, n int) {
	g.node.pool.SetWorkers(now, g.lane, n)
	g.node.wakes()
}

// Release implements sched.Gate.
func (g *gate) Release(now int64) {
	g.node.pool.Release(now, g.lane)
	g.node.wakes()
}

// Idle implements sched.Gate.
func (g *gate) Idle(now int64) {
	g.node.pool.Idle(now, g.lane)
	g.node.wakes()
}

// wakes tells the owners whose lanes may go on.
func (n *node) wakes() {
	for _, l := range n.pool.Wakes(nil) {
		if o := n.parts[l.Partition()]; o != nil {
			name := l.Resource().Name()
			o.put(func() { o.machine.Wake(n.w.now, name) })
		}
	}
}

// rows reads a partition's state.
type rows struct {
	w         *World
	partition int
}

func (r rows) Get(key []byte) ([]byte, error) {
	return r.w.mem.Get(r.w.ctx, r.partition, key)
}

func (r rows) GetMany(keys [][]byte) ([][]byte, error) {
	return r.w.mem.GetMany(r.w.ctx, r.partition, keys)
}

func (r rows) Scan(prefix []byte, yield func(key, value []byte) error) error {
	return r.w.mem.Scan(r.w.ctx, r.partition, prefix, yield)
}
