package own

import (
	"maps"
	"testing"
)

// Partitions 0 to 5 lie on three nodes, evenly. What each node should own follows from what they announce.
func TestANodeInDoubtIsGivenNothingNew(t *testing.T) {
	owns := func(inDoubt bool, partitions ...int) Record {
		n := Record{Slots: 8, InDoubt: inDoubt, Pending: map[int]int64{}}
		for _, p := range partitions {
			n.Pending[p] = 1
		}
		return n
	}
	for _, tt := range []struct {
		name  string
		nodes map[string]Record
		want  map[string]int // how many each should own
		moves bool           // some leave the node that has them
	}{
		{"all are certain", map[string]Record{"a": owns(false, 0, 1, 2), "b": owns(false, 3, 4, 5), "c": owns(false)}, map[string]int{"a": 2, "b": 2, "c": 2}, true},
		{"the third comes back in doubt", map[string]Record{"a": owns(false, 0, 1, 2), "b": owns(false, 3, 4, 5), "c": owns(true)}, map[string]int{"a": 3, "b": 3}, false},
		{"it still has one", map[string]Record{"a": owns(false, 0, 1, 2), "b": owns(false, 3, 4), "c": owns(true, 5)}, map[string]int{"a": 3, "b": 2, "c": 1}, false},
		{"another died meanwhile", map[string]Record{"a": owns(false, 0, 1, 2), "c": owns(true)}, map[string]int{"a": 6}, false},
		{"all are in doubt", map[string]Record{"a": owns(true, 0, 1, 2), "b": owns(true, 3, 4, 5), "c": owns(true)}, map[string]int{"a": 2, "b": 2, "c": 2}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &Fleet{nodes: tt.nodes}
			owner, got, moves := f.assign(6), map[string]int{}, false
			for p, name := range owner {
				got[name]++
				for holder, n := range tt.nodes {
					_, held := n.Pending[p]
					moves = moves || held && holder != name
				}
			}
			if !maps.Equal(got, tt.want) || moves != tt.moves {
				t.Errorf("%v moves %v, want %v, moves %v", owner, moves, tt.want, tt.moves)
			}
		})
	}
}
