package route

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestIsolation draws tenants and compares how often they meet with what chance
// alone would give: shards and candidates are as good as random sets.
func TestIsolation(t *testing.T) {
	for _, tt := range []struct{ partitions, shards int }{{8, 2}, {16, 4}, {32, 4}, {64, 8}} {
		t.Run(fmt.Sprintf("%d shards of %d partitions", tt.shards, tt.partitions), func(t *testing.T) {
			const runs = 20_000
			got := meet(tt.partitions, tt.shards, runs)
			want := chance(float64(tt.partitions), float64(tt.shards))
			for i, name := range []string{
				"all shards shared", "no shard shared",
				"small tenant hit by one flood, one choice", "two choices",
				"small tenant hit by five floods, one choice", "two choices of five",
			} {
				p := want[i]
				t.Logf("%s: %.2g, by chance %.2g", name, float64(got[i])/runs, p)
				// 4.5 deviations; the 2 is for events so rare that few are expected.
				if off := math.Abs(float64(got[i]) - runs*p); off > 4.5*math.Sqrt(runs*p*(1-p))+2 {
					t.Errorf("%s: %d of %d times, want about %.1f", name, got[i], runs, runs*p)
				}
			}
		})
	}
}

// meet counts, over many runs with five floods and a small tenant, the six events
// of TestIsolation.
func meet(partitions, shards, runs int) (events [6]int) {
	table := NewTable(partitions)
	for run := range runs {
		var floods [5][]int
		flooded := make([]bool, partitions)
		for i := range floods {
			name := fmt.Sprintf("flood-%d-%d", run, i)
			floods[i] = Shards(name, table.Home(name), partitions, shards)
			for _, p := range floods[i] {
				flooded[p] = true
			}
		}
		first := func(p int) bool { return slices.Contains(floods[0], p) }
		shared := len(slices.DeleteFunc(slices.Clone(floods[1]), func(p int) bool { return !first(p) }))
		a, b := table.Candidates(fmt.Sprintf("small-%d", run))
		for i, happened := range []bool{
			shared == shards, shared == 0,
			first(a), first(a) && first(b),
			flooded[a], flooded[a] && flooded[b],
		} {
			events[i] += btoi(happened)
		}
	}
	return events
}

// chance gives the probabilities of the six events for k random ones of n.
func chance(n, k float64) [6]float64 {
	sets := choose(n, k)
	spared := choose(n-1, k) / sets     // a given partition is in no shard of a flood
	bothSpared := choose(n-2, k) / sets // nor is a second one
	return [6]float64{
		1 / sets, choose(n-k, k) / sets,
		k / n, k * (k - 1) / (n * (n - 1)),
		1 - math.Pow(spared, 5), 1 - 2*math.Pow(spared, 5) + math.Pow(bothSpared, 5),
	}
}

// choose is the number of sets of k out of n.
func choose(n, k float64) float64 {
	sets := 1.0
	for i := range int(k) {
		sets *= (n - float64(i)) / float64(i+1)
	}
	return sets
}
