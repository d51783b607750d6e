package source

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// Keys is a set of item ids that detects duplicates. It keeps 96 bits of each id's xxh3-128
// hash and not the id: about 23 bytes per id, however long ids are.
//
// Two different ids look the same with a probability of about n²/2⁹⁷ for n ids: 6 in 10¹⁸ for a
// million, 6 in 10¹² for a billion. The hash is seeded at random, so that ids that collide once
// do not collide again; it does not withstand an attacker who can watch the answers.
//
// The set is cut into 256 tables that grow one at a time: no insert has to move more than 1/256 of it. A Keys
// belongs to one goroutine.
type Keys struct {
	seed   uint64
	placed bool // lines are kept
	shards *[256]shard
	few    []xxh3.Uint128 // all that are in the set, as long as there are no tables
	n      int

	touched uint32 // keeps the compiler from leaving touch out
}

// NewKeys returns an empty set.
func NewKeys() *Keys { return &Keys{seed: rand.Uint64()} }

// NewPlacedKeys returns an empty set for [Keys.AddAt]. It takes about 31 bytes per id instead
// of 23.
func NewPlacedKeys() *Keys {
	k := NewKeys()
	k.placed = true
	return k
}

// FoldID returns an id in lower case and without the spaces around it: two ids that are the same then are one to people.
func FoldID(id string) string { return strings.ToLower(strings.TrimSpace(id)) }

// AddAt does the same as [Keys.Add] for an id at a line. For a duplicate, first is the line of
// its first occurrence, or 0 if unknown: lines beyond four billion are not kept.
func (k *Keys) AddAt(id string, line int) (first int, fresh bool) {
	h := xxh3.HashString128Seed(id, k.seed)
	t, at, fresh := k.place(h)
	if !fresh {
		return int(t.lines[at]), false
	}
	if uint64(line) <= math.MaxUint32 {
		t.lines[at] = uint32(line)
	}
	return line, true
}

// Add adds id and reports whether it is fresh: it was not in the set before.
func (k *Keys) Add(id string) (fresh bool) { return k.add(xxh3.HashString128Seed(id, k.seed)) }

// At returns the line that [Keys.AddAt] was given for an id, 0 if the id is not in the set or the line is not known.
func (k *Keys) At(id string) (line int, found bool) {
	if k.shards == nil {
		return 0, false
	}
	h := xxh3.HashString128Seed(id, k.seed)
	t := &k.shards[h.Hi>>56]
	if len(t.slots) == 0 {
		return 0, false
	}
	at, found := t.find(newSlot(h))
	if !found {
		return 0, false
	}
	return int(t.lines[at]), true
}

// AddAll does the same as [Keys.Add] for many ids at once, which in a large set takes less than
// half the time: fresh[i] tells about ids[i]. An id that occurs twice in ids is fresh once.
// fresh must be as long as ids.
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
	if k.shards == nil {
		return
	}
	var sum uint32
	for _, h := range hashes {
		t := &k.shards[h.Hi>>56]
		if n := len(t.slots); n > 0 {
			i := t.home(newSlot(h))
			sum += t.slots[i][2] + t.slots[min(i+lineSlots, n-1)][2] // most runs end in the second cache line
		}
	}
	k.touched = sum
}

// Len returns the number of ids in the set.
func (k *Keys) Len() int { return k.n }

// Bytes returns the memory of the tables.
func (k *Keys) Bytes() int {
	total := 0
	if k.shards == nil {
		return cap(k.few) * 16
	}
	for i := range k.shards {
		total += len(k.shards[i].slots)*slotBytes + len(k.shards[i].lines)*lineBytes
	}
	return total
}

// mostFew is how many ids are kept without tables: most bulk actions are small, and the tables are not.
const mostFew = 32

func (k *Keys) add(h xxh3.Uint128) (fresh bool) {
	if k.shards != nil || len(k.few) == mostFew {
		_, _, fresh = k.place(h)
		return fresh
	}
	if slices.Contains(k.few, h) {
		return false
	}
	k.few = append(k.few, h)
	k.n++
	return true
}

// makeTables moves what is in the set into tables.
func (k *Keys) makeTables() {
	few := k.few
	k.shards, k.few, k.n = &[256]shard{}, nil, 0
	for _, h := range few {
		k.place(h)
	}
}

// place puts a hash into its table, and returns its place.
func (k *Keys) place(h xxh3.Uint128) (t *shard, at int, fresh bool) {
	if k.shards == nil {
		k.makeTables()
	}
	t = &k.shards[h.Hi>>56]
	if t.n*4 >= len(t.slots)*3 { // at most 3/4 full: runs stay short
		t.grow(int(h.Hi>>56), k.placed)
	}
	if at, fresh = t.put(newSlot(h)); fresh {
		t.n++
		k.n++
	}
	return t, at, fresh
}

// slot is 96 bits of a hash. Three words of 32 bits keep it at 12 bytes. The last word of an empty slot is 0, and
// of no other.
type slot [3]uint32

const (
	slotBytes = 12
	lineBytes = 4
	lineSlots = 64 / slotBytes
)

func newSlot(h xxh3.Uint128) slot {
	return slot{uint32(h.Lo >> 32), uint32(h.Lo), max(1, uint32(h.Hi))}
}

// shard is an open-addressing table with linear probing. Nothing is ever removed.
type shard struct {
	slots []slot
	lines []uint32 // where the id in the slot came first; nil if lines are not kept
	n     int
}

// home returns where a slot belongs: in proportion to its first 64 bits, so that a table can
// have any length and a grown one is filled from left to right.
func (t *shard) home(s slot) int {
	i, _ := bits.Mul64(uint64(s[0])<<32|uint64(s[1]), uint64(len(t.slots)))
	return int(i)
}

func (t *shard) put(s slot) (at int, fresh bool) {
	at, found := t.find(s)
	if !found {
		t.slots[at] = s
	}
	return at, !found
}

// find returns where a slot is, or else where it would be.
func (t *shard) find(s slot) (at int, found bool) {
	slots := t.slots
	for i := t.home(s); ; {
		at := &slots[i]
		if at[2] == 0 {
			return i, false
		}
		if at[2] == s[2] && at[1] == s[1] && at[0] == s[0] {
			return i, true
		}
		if i++; i == len(slots) {
			i = 0
		}
	}
}

// grow doubles the table. The first sizes of the tables lie between 32 and 64 slots, spread so that at any time some tables
// have just grown and others are about to: as a whole the set always takes about 23 bytes per id.
func (t *shard) grow(number int, placed bool) {
	old, lines := t.slots, t.lines
	t.slots = make([]slot, cmp.Or(2*len(old), int(32*math.Exp2(float64(number)/256))))
	if placed {
		t.lines = make([]uint32, len(t.slots))
	}
	for i, s := range old {
		if s[2] == 0 {
			continue
		}
		if at, _ := t.put(s); placed {
			t.lines[at] = lines[i]
		}
	}
}
