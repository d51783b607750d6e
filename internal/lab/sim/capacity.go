package sim

import "github.com/weirhq/weir/internal/core/capacity"

// deliverCalls has the owners turn for which something was picked.
func (n *node) deliverCalls() {
	for n.capacity.Called() {
		for _, p := range n.capacity.Calls(nil) {
			p.Data.(*owner).put(func() {})
		}
	}
}

// tenant is what the machines of a node are told of a tenant. The last one counts.
func (n *node) tenant(name string) capacity.TenantLimits {
	n.tenants[name] = n.w.tenants[name]
	return n.tenants[name]
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
