package route

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNumberOfShards(t *testing.T) {
	for _, tt := range []struct {
		name             string
		items            int64
		partitions, want int
	}{
		{"nothing is one shard", 0, 16, 1},
		{"a shard's worth is not spread", 250_000, 16, 1},
		{"one item more is", 250_001, 16, 2},
		{"a shard for each 250,000", 600_000, 16, 3},
		{"at most a quarter of the partitions", 50_000_000, 16, 4},
		{"two of few partitions", 50_000_000, 3, 2},
		{"one of one", 50_000_000, 1, 1},
		{"no overflow", math.MaxInt64, 64, 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ShardsFor(tt.items, MostShards(tt.partitions)); got != tt.want {
				t.Errorf("shards of %d items on %d partitions = %d, want %d", tt.items, tt.partitions, got, tt.want)
			}
		})
	}
}

func TestShardsBeginAtHomeAndDoNotRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.IntRange(1, 256).Draw(t, "partitions")
		n := rapid.IntRange(-1, 300).Draw(t, "n")
		home := rapid.IntRange(0, partitions-1).Draw(t, "home")
		tenant := rapid.String().Draw(t, "tenant")
		got := Shards(tenant, home, partitions, n)
		if want := min(max(n, 1), partitions); len(got) != want || got[0] != home {
			t.Fatalf("Shards = %v, want %d that begin with %d", got, want, home)
		}
		sorted := slices.Compact(slices.Sorted(slices.Values(got)))
		if len(sorted) != len(got) || sorted[0] < 0 || sorted[len(sorted)-1] >= partitions {
			t.Fatalf("Shards = %v, want different ones of %d partitions", got, partitions)
		}
		if more := Shards(tenant, home, partitions, len(got)+1); !slices.Equal(more[:len(got)], got) {
			t.Fatalf("%d shards are %v, one more are %v", len(got), got, more)
		}
	})
}

func TestANewPartitionReplacesOneShardAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.IntRange(1, 256).Draw(t, "partitions")
		home := rapid.IntRange(0, partitions-1).Draw(t, "home")
		tenant := rapid.String().Draw(t, "tenant")
		n := MostShards(partitions)
		before, after := Shards(tenant, home, partitions, n), Shards(tenant, home, partitions+1, n)
		for _, p := range after {
			if p != partitions && !slices.Contains(before, p) {
				t.Fatalf("shards %v became %v when partition %d was added", before, after, partitions)
			}
		}
	})
}
