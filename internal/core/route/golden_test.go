package route

import (
	"fmt"
	"testing"

	"github.com/zeebo/xxh3"
)

// TestResultsAreThoseOfEarlierReleases guards the protocol: if this fails, nodes of
// this release and of the last would fight over partitions and route tenants apart.
func TestResultsAreThoseOfEarlierReleases(t *testing.T) {
	held := Assign(numbers(256), equalNodes(16), nil)
	table := NewTable(16)
	a, b := table.Candidates("acme")
	for _, tt := range []struct {
		name   string
		result any
		want   string
	}{
		{"owners", digest(Assign(numbers(64), equalNodes(3), nil)), "33c09248848db132"},
		{"owners by slots", digest(Assign(numbers(100), []Node{{"a", 4}, {"b", 8}, {"c", 32}}, nil)), "21c2cc985970bbf0"},
		{"owners after a join", digest(Assign(numbers(256), equalNodes(17), held)), "41923d85e514eb9f"},
		{"table of 16", digest(table.slots), "3ee86c1dc8f3fa25"},
		{"table of 256", digest(NewTable(256).slots), "368c9eada2cd6e12"},
		{"candidates", []int{a, b}, "[5 2]"},
		{"keyed", []int{table.Keyed("acme", "k1"), table.Keyed("acme", "k2"), table.Keyed("acme", "k3")}, "[2 2 5]"},
		{"shards", Shards("acme", 3, 64, 8), "[3 61 57 17 36 0 6 21]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fmt.Sprint(tt.result); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// digest hashes a value as it prints; maps print in the order of their keys.
func digest(v any) string { return fmt.Sprintf("%016x", xxh3.HashString(fmt.Sprint(v))) }
