// Package route decides which partition gets new work, and which node owns
// which partition.
//
// A [Table] spreads tenants over partitions. It follows from the number of
// partitions alone, so every node of that number has the same one without asking,
// and a change of the number moves no more tenants than it must. [Table.Candidates]
// offers two partitions for a bulk action, of which [Choose] takes the less loaded;
// [Table.Keyed] picks one of the two without looking at load, so that a repeated
// submit arrives where the first one did. [Shards] spreads a huge bulk action over
// a few partitions that seldom coincide with those of another tenant.
//
// [Assign] spreads partitions over live nodes. Each node computes it for itself;
// nodes that see the same members and holders come to the same answer.
//
// The package is pure, and its results are part of a cluster's protocol: nodes of
// two releases must agree on them during a rolling deploy. A Table never changes
// and may be shared by goroutines.
package route

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// score hashes two numbers into one. The node with the best score for a partition does not
// depend on which other nodes exist, which keeps moves few.
func score(a, b uint64) uint64 {
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:8], a)
	binary.LittleEndian.PutUint64(raw[8:], b)
	return xxh3.Hash(raw[:])
}
