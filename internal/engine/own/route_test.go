package own

import (
	"slices"
	"testing"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/loss"
)

// A huge bulk action has no shard in a stopped partition, and as many as there would be otherwise if enough run.
func TestShardsAreOfPartitionsThatRun(t *testing.T) {
	e := &Router{layout: &Layout{}, losses: &loss.Book{}}
	e.layout.current.Store(&Map{Generation: 1, Partitions: 16, Most: 16})
	huge := &partition.Created{Tenant: "acme", Items: 1_000_000}
	whole := e.Shards(huge, 5)
	e.losses.Learn([]loss.Loss{{Partition: whole[1], Found: 1}, {Partition: whole[3], Found: 1}, {Partition: whole[2], Found: 1, Accepted: 2}})
	if got := e.Shards(huge, 5); len(got) != len(whole) || got[0] != 5 || got[1] != whole[2] || slices.Contains(got, whole[1]) || slices.Contains(got, whole[3]) {
		t.Errorf("shards %v with %d and %d stopped, of %v", got, whole[1], whole[3], whole)
	}
	for p := range 16 {
		e.losses.Learn([]loss.Loss{{Partition: p, Found: 3}})
	}
	if got := e.Shards(huge, 5); got != nil {
		t.Errorf("shards %v with all others stopped, want the home alone", got)
	}
}
