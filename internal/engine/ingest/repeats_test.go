package ingest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// blocksOf cuts ids into blocks as a stream does.
func blocksOf(r *repeats, ids []string, size int) (blocks [][]hashed) {
	for from := 0; from < len(ids); from += size {
		var b []hashed
		for i, id := range ids[from:min(from+size, len(ids))] {
			b = r.hash(b, []byte(id), int64(from+i))
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// firstRepeat says the same as repeats, by a map.
func firstRepeat(ids []string) (p pair, twice bool) {
	before := map[string]int64{}
	for i, id := range ids {
		if first, seen := before[id]; seen {
			return pair{first, int64(i)}, true
		}
		before[id] = int64(i)
	}
	return pair{}, false
}

func TestRepeatsFindsTheFirstItemWhoseIDCameBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alike := rapid.SampledFrom([]int{2, 50, 5000, 1 << 40}).Draw(t, "different ids")
		ids := make([]string, rapid.IntRange(0, 3000).Draw(t, "ids"))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for i := range ids {
			ids[i] = strconv.Itoa(rng.IntN(alike))
		}
		r := newRepeats()
		r.next = rapid.SampledFrom([]int{1, 100, earlyRepeats}).Draw(t, "compared early")
		blocks := blocksOf(r, ids, 100)
		rng.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] }) // writers are not in order
		for _, b := range blocks {
			r.add(b)
		}
		got, twice := r.find()
		want, really := firstRepeat(ids)
		if twice != really || got != want {
			t.Errorf("found %v, %t among %d ids, want %v, %t", got, twice, len(ids), want, really)
		}
	})
}

// The ids of a shard of a bulk action of tens of millions of items.
func TestAShardHoldsAsManyIDsAsThereAre(t *testing.T) {
	const ids = 100 * chunkIDs
	var shard chunks
	for i := range ids {
		shard.add(hashed{hash: uint64(i), item: uint32(i)})
	}
	got := new(table).gather(shard)
	if len(got) != ids {
		t.Fatalf("it holds %d ids, want %d", len(got), ids)
	}
	for i, h := range got {
		if h.item != uint32(i) {
			t.Fatalf("id %d is that of item %d", i, h.item)
		}
	}
}

func TestRepeatsAreFoundEarly(t *testing.T) {
	r := newRepeats()
	ids := make([]string, 4*earlyRepeats)
	for i := range ids {
		ids[i] = fmt.Sprint("user-", i%100)
	}
	blocks := blocksOf(r, ids, 1024)
	at := slices.IndexFunc(blocks, r.add)
	if at < 0 || at > earlyRepeats/1024 {
		t.Errorf("after %d blocks of 1,024 items an id that comes twice was found, want at most %d", at, earlyRepeats/1024)
	}
}

func TestRepeatsTakesBlocksFromSeveralWriters(t *testing.T) {
	r := newRepeats()
	ids := make([]string, 20_000)
	for i := range ids {
		ids[i] = fmt.Sprint("user-", i)
	}
	ids[19_000] = ids[700]
	var g sync.WaitGroup
	for _, b := range blocksOf(r, ids, 500) {
		g.Go(func() { r.add(b) })
	}
	g.Wait()
	if p, twice := r.find(); !twice || p != (pair{700, 19_000}) {
		t.Errorf("found %v, %t, want items 700 and 19,000", p, twice)
	}
}
