package source

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"

	"github.com/zeebo/xxh3"
)

// Keys is a set of item ids that tells whether an id came before. It keeps 96 bits of each id's
// xxh3-128 hash and not the id: 15 to 23 bytes per id, however long ids are.
//
// Two different ids look the same with a probability of about n²/2⁹⁷ for n ids: 6 in 10¹⁸ for a million, 6 in 10¹²
// for a billion. The hash is seeded at random, so that nobody can prepare ids that collide.
//
// The set is cut into 256 tables that grow one at a time: no insert has to move more than 1/256 of it. A Keys
// belongs to one goroutine.
type Keys struct {
	seed   uint64
	shards [256]shard
	n      int

	touched uint32 // keeps the compiler from leaving touch out
}

// NewKeys makes an empty set.
func NewKeys() *Keys { return &Keys{seed: rand.Uint64()} }

// Add puts id in the set and reports whether it is fresh, that is, was not there before.
func (k *Keys) Add(id string) (fresh bool) { return k.add(xxh3.HashString128Seed(id, k.seed)) }

// AddBytes is [Keys.Add] for an id that is not a string yet.
func (k *Keys) AddBytes(id []byte) (fresh bool) { return k.add(xxh3.Hash128Seed(id, k.seed)) }

// AddAll is [Keys.Add] for many ids at once, which is several times faster in a large set: fresh[i] tells
// about ids[i]. An id that is there twice in ids is fresh once. fresh must be as long as ids.
func (k *Keys) AddAll(ids []string, fresh []bool) {
	var hashes [32]xxh3.Uint128
	for len(ids) > 0 {
		n := min(len(ids), len(hashes))
		for i, id := range ids[:n] {
			hashes[i] = xxh3.HashString128Seed(id, k.seed)
		}
		k.touch(hashes[:n])
		for i, h := range hashes[:n] {
			fresh[i] = k.add(h)
		}
		ids, fresh = ids[n:], fresh[n:]
	}
}

// touch reads where each hash will go. These reads do not depend on each other, so that the processor
// waits for memory once for all of them.
func (k *Keys) touch(hashes []xxh3.Uint128) {
	var sum uint32
	for _, h := range hashes {
		t := &k.shards[h.Hi>>56]
		if n := len(t.tags); n > 0 {
			g := newSlot(h).home(n)
			sum += uint32(t.tags[g][0]) + t.slots[g][groupSlots/2][0]
		}
	}
	k.touched = sum
}

// Len is the number of ids in the set.
func (k *Keys) Len() int { return k.n }

// Bytes is the memory that the tables take.
func (k *Keys) Bytes() int {
	total := 0
	for i := range k.shards {
		total += len(k.shards[i].tags) * groupBytes
	}
	return total
}

func (k *Keys) add(h xxh3.Uint128) bool {
	if !k.shards[h.Hi>>56].add(newSlot(h)) {
		return false
	}
	k.n++
	return true
}

// slot is 96 bits of a hash. Three words of 32 bits keep it at 12 bytes.
type slot [3]uint32

func newSlot(h xxh3.Uint128) slot { return slot{uint32(h.Lo >> 32), uint32(h.Lo), uint32(h.Hi)} }

// home is where among n groups a slot belongs: in proportion to its first 64 bits, so that any n will do and a
// grown table is filled from left to right.
func (s slot) home(n int) int {
	g, _ := bits.Mul64(uint64(s[0])<<32|uint64(s[1]), uint64(n))
	return int(g)
}

// tag is one byte of the hash that is not 0.
func (s slot) tag() byte { return max(1, byte(s[2])) }

const (
	groupSlots = 16
	groupBytes = groupSlots * (12 + 1)
)

// tags holds a byte for each slot of a group: 0 for an empty one, else the slot's tag. They lie apart from the slots
// because a look at them nearly always settles that an id is fresh. The processor guesses that right
// and overlaps the cache misses of many calls; with slots probed one by one it would wait for each.
type tags [groupSlots]byte

// find marks the places that hold t, and perhaps a few that do not; the lowest place marked is always right
// for t = 0.
func (g *tags) find(t byte) (places uint32) {
	pattern := uint64(t) * ones
	low := zeroBytes(binary.LittleEndian.Uint64(g[:8]) ^ pattern)
	high := zeroBytes(binary.LittleEndian.Uint64(g[8:]) ^ pattern)
	return low | high<<8
}

const ones = 0x0101010101010101

// zeroBytes has bit i set when byte i of w is 0. Above the first such byte it may have some bits too many.
func zeroBytes(w uint64) uint32 {
	marks := (w - ones) & ^w & (ones << 7)
	return uint32(marks >> 7 * 0x0102040810204080 >> 56)
}

// shard is an open-addressing table: groups of slots, filled in order, the next group taken when one is full.
// Nothing is ever removed.
type shard struct {
	tags  []tags
	slots [][groupSlots]slot
	n     int
}

func (t *shard) add(s slot) bool {
	if t.n*20 >= len(t.tags)*groupSlots*17 { // at most 85 % full
		t.grow()
	}
	if !t.put(s) {
		return false
	}
	t.n++
	return true
}

func (t *shard) put(s slot) bool {
	for i := s.home(len(t.tags)); ; {
		g := &t.tags[i]
		for m := g.find(s.tag()); m != 0; m &= m - 1 {
			if t.slots[i][bits.TrailingZeros32(m)%groupSlots] == s {
				return false
			}
		}
		if m := g.find(0); m != 0 {
			at := bits.TrailingZeros32(m) % groupSlots
			g[at] = s.tag()
			t.slots[i][at] = s
			return true
		}
		if i++; i == len(t.tags) {
			i = 0
		}
	}
}

// grow makes the table half as large again: doubling would leave it too empty for 24 bytes per id.
func (t *shard) grow() {
	old := *t
	n := max(1, len(old.tags)+(len(old.tags)+1)/2)
	t.tags, t.slots = make([]tags, n), make([][groupSlots]slot, n)
	for i := range old.tags {
		for j, tag := range old.tags[i] {
			if tag != 0 {
				t.put(old.slots[i][j])
			}
		}
	}
}
