package ingest

import (
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/weirhq/weir/internal/core/block"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"
)

// repeats finds an id that comes twice, after the items have been read. It keeps 96 bits of each id's hash and the number of
// its item, in the order in which they come: a set in which each id is looked up would wait for memory at every
// item. The ids are compared shard by shard, each of which fits into a processor's cache.
//
// Two different ids look the same with a probability of about n²/2⁹⁷ for n ids, as with [source.Keys].
type repeats struct {
	seed uint64

	mu     sync.Mutex
	shards []chunks // by the upper bits of the hash; nil while one block is all there is
	few    []hashed
	n      int
	next   int // how many are compared before the input ends
	found  pair
}

// hashed is an id that was read.
type hashed struct {
	hash uint64
	more uint32 // further bits
	item uint32 // its number; that of an item beyond four billion is wrong
}

func (h hashed) equal(o hashed) bool { return h.hash == o.hash && h.more == o.more }

// pair is two items with one id, counted from 0. It is empty if both are the same.
type pair struct{ first, again int64 }

const (
	repeatShards = 256
	// earlyRepeats is after how many items ids are compared first. It is done again whenever there are four times as many.
	earlyRepeats = 16 * block.Size
)

func newRepeats() *repeats { return &repeats{seed: rand.Uint64(), next: earlyRepeats} }

// hash appends what add takes of an id.
func (r *repeats) hash(to []hashed, id []byte, item int64) []hashed {
	return append(to, hashedAs(xxh3.Hash128Seed(id, r.seed), item))
}

// hashText does the same as hash.
func (r *repeats) hashText(to []hashed, id string, item int64) []hashed {
	return append(to, hashedAs(xxh3.HashString128Seed(id, r.seed), item))
}

func hashedAs(h xxh3.Uint128, item int64) hashed { return hashed{h.Hi, uint32(h.Lo), uint32(item)} }

// add takes the ids of a block, and reports whether an id has come twice for all that has been compared so far.
func (r *repeats) add(ids []hashed) (twice bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n += len(ids)
	if r.few == nil && r.shards == nil {
		r.few = append(r.few, ids...)
		return false
	}
	if r.shards == nil {
		r.shards = make([]chunks, repeatShards)
		r.spread(r.few)
		r.few = nil
	}
	r.spread(ids)
	if r.n >= r.next {
		r.next = 4 * r.n
		r.compare(1)
	}
	return r.found.first != r.found.again
}

func (r *repeats) spread(ids []hashed) {
	for _, h := range ids {
		r.shards[h.hash>>56].add(h)
	}
}

// find returns the first item whose id has come before, and where. Nothing may be added meanwhile.
func (r *repeats) find() (p pair, twice bool) {
	r.compare(runtime.GOMAXPROCS(0))
	return r.found, r.found.first != r.found.again
}

// compare finds the first item whose id has come before, with so many goroutines.
func (r *repeats) compare(workers int) {
	if r.shards == nil {
		r.found = new(table).repeat(r.few)
		return
	}
	found := make([]pair, workers)
	var g errgroup.Group
	for w := range workers {
		g.Go(func() error {
			var t table
			for s := w; s < len(r.shards); s += workers {
				found[w] = firstOf(found[w], t.repeat(t.gather(r.shards[s])))
			}
			return nil
		})
	}
	_ = g.Wait() // they return no error
	for _, p := range found {
		r.found = firstOf(r.found, p)
	}
}

// chunks holds the ids of a shard in pieces: nothing has to be copied when it grows, and little is reserved.
type chunks [][]hashed

// chunkIDs is how many ids the last chunks of a shard hold. The first hold fewer.
const chunkIDs = 512

func (c *chunks) add(h hashed) {
	last := len(*c) - 1
	if last < 0 || len((*c)[last]) == cap((*c)[last]) {
		*c = append(*c, make([]hashed, 0, min(8<<min(len(*c), 8), chunkIDs)))
		last++
	}
	(*c)[last] = append((*c)[last], h)
}

// firstOf returns the pair that was complete first, of those that are not empty.
func firstOf(a, b pair) pair {
	if a.first == a.again || b.first != b.again && b.again < a.again {
		return b
	}
	return a
}

// table compares the ids of a shard by open addressing. Its memory is used again for the next one.
type table struct {
	slots []uint32 // which id is there, counted from 1; 0: none
	ids   []hashed // of the shard
}

// gather returns the ids of a shard in one piece.
func (t *table) gather(shard chunks) []hashed {
	t.ids = t.ids[:0]
	for _, c := range shard {
		t.ids = append(t.ids, c...)
	}
	return t.ids
}

// repeat returns the first item whose id has come before, in whatever order the ids are.
func (t *table) repeat(ids []hashed) (first pair) {
	if len(ids) < 2 {
		return pair{}
	}
	size := 1 << bits.Len(uint(2*len(ids)-1))
	if size > len(t.slots) {
		t.slots = make([]uint32, size)
	}
	slots, shift := t.slots[:size], 64-bits.Len(uint(size-1))
	clear(slots)
	for i, h := range ids {
		at := h.hash << 8 >> shift // the upper bits are the same in all of a shard
		for slots[at] != 0 && !ids[slots[at]-1].equal(h) {
			at = (at + 1) & uint64(size-1)
		}
		if slots[at] != 0 {
			before := ids[slots[at]-1].item
			first = firstOf(first, pair{int64(min(before, h.item)), int64(max(before, h.item))})
			if before < h.item {
				continue
			}
		}
		slots[at] = uint32(i + 1)
	}
	return first
}
