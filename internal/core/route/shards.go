package route

import (
	"cmp"
	"slices"

	"github.com/zeebo/xxh3"
)

// ItemsPerShard is the number of items that justifies another shard. A bulk action of at most
// this size has one shard.
const ItemsPerShard = 250_000

// shardSeed makes a tenant's shards independent of its home and candidates.
const shardSeed = 0x73686172647321

// ShardsFor returns the number of shards of a bulk action of so many items: one for each
// [ItemsPerShard] begun, at least one and at most most.
func ShardsFor(items int64, most int) int {
	begun := items / ItemsPerShard
	if items%ItemsPerShard > 0 {
		begun++
	}
	return int(max(1, min(begun, int64(most))))
}

// MostShards returns the largest number of shards among so many partitions: a quarter of them,
// so that one bulk action never reaches all, but two if there are two.
func MostShards(partitions int) int { return min(partitions, max(2, partitions/4)) }

// Shards returns the partitions of the shards of a huge bulk action: home, which adds up the
// shards' results, then those of the best rendezvous score for the tenant, best first. The
// shards for a smaller n are a prefix of those for a larger n. It returns at most as many as
// there are partitions.
//
// Two tenants share all of n shards once in about C(partitions, n), so one flood
// rarely sits everywhere that another tenant's work does.
func Shards(tenant string, home, partitions, n int) []int {
	h := xxh3.HashStringSeed(tenant, shardSeed)
	scores := make([]uint64, partitions)
	others := make([]int, 0, partitions)
	for p := range partitions {
		scores[p] = score(h, uint64(p))
		if p != home {
			others = append(others, p)
		}
	}
	slices.SortFunc(others, func(p, q int) int {
		return cmp.Or(cmp.Compare(scores[q], scores[p]), cmp.Compare(p, q))
	})
	more := min(max(n, 1)-1, len(others))
	return append([]int{home}, others[:more]...)
}
