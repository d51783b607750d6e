package engine

import (
	"maps"
	"slices"

	"github.com/weirhq/weir"
)

// Owners tells which node owns which partition, as far as this node knows.
func (e *Engine) Owners() map[int]string {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	owners := map[int]string{}
	for name, n := range e.fleet.nodes { // one owner each: order does not reach the output
		for p := range n.Pending {
			owners[p] = name
		}
	}
	for _, p := range e.Owned() {
		owners[p] = e.node
	}
	return owners
}

// Unowned lists the partitions without an owner, as far as this node knows: their work does not move.
func (e *Engine) Unowned() (partitions []int) {
	owners := e.Owners()
	for p := range e.layout.now().Most {
		if _, owned := owners[p]; !owned {
			partitions = append(partitions, p)
		}
	}
	return partitions
}

// Lanes lists the lanes that the bulk action's steps use, by partition.
func (b *BulkAction) Lanes() (lanes []weir.LaneID) {
	resources := map[string]bool{}
	for _, s := range b.engine.stepsOf(b.spec) {
		resources[s.Resource.Name] = true
	}
	parts := slices.Clone(b.spec.Shards)
	if len(parts) == 0 {
		parts = []int{b.partition}
	}
	slices.Sort(parts)
	for _, p := range slices.Compact(parts) {
		for _, r := range slices.Sorted(maps.Keys(resources)) {
			lanes = append(lanes, weir.LaneID{Partition: p, Resource: r})
		}
	}
	return lanes
}
