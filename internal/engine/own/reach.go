package own

import (
	"maps"
	"slices"

	"github.com/weirhq/weir/internal/core/partition"
)

// Reach returns which node runs which of the partitions that new work goes to, as this node saw it
// last. Nodes are numbered.
func (m *Member) Reach() []int {
	if r := m.reach.Load(); r != nil {
		return *r
	}
	return nil
}

// survey tells the partitions of this node when others have moved.
func (m *Member) survey() {
	n, _ := m.layout.Now().Serving()
	runs, self := m.fleet.runners(n)
	for p := range runs {
		if m.Running(p) != nil { // this node may not have announced it yet
			runs[p] = self
		}
		if _, stopped := m.Losses.Of(p); stopped {
			runs[p] = partition.NoNode
		}
	}
	if slices.Equal(runs, m.Reach()) {
		return
	}
	m.reach.Store(&runs)
	m.Moved()
}

// runners returns the number of the node that runs each of the first partitions, and that of this
// node. A node that is in doubt about the store counts as none.
func (f *Fleet) runners(partitions int) (runs []int, self int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	runs = slices.Repeat([]int{partition.NoNode}, partitions)
	for no, name := range slices.Sorted(maps.Keys(f.nodes)) {
		n := f.nodes[name]
		if name == f.node {
			self = no
		}
		for p := range n.Pending { // one node each: order does not reach the output
			if p < partitions && !n.InDoubt {
				runs[p] = no
			}
		}
	}
	return runs, self
}
