package engine

import (
	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/internal/route"
)

// shardsFor says which partitions work on a bulk action together, its home
// first; nil: the home alone.
func (e *Engine) shardsFor(c *partition.Created, home int) []int {
	partitions := e.layout.now().Partitions
	n := route.ShardsFor(c.Items, route.MostShards(partitions))
	if c.Concurrency > 0 {
		n = min(n, c.Concurrency) // each of them runs a task at least
	}
	if n < 2 {
		return nil
	}
	return route.Shards(c.Tenant, home, partitions, n)
}
