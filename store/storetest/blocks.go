package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

var blockCases = []testCase{
	{"a block comes back as it was written", func(t *testing.T, s store.Store) {
		must(t, s.PutBlocks(t.Context(), part, bulk, 0, [][]byte{[]byte("zero"), {}, []byte("two")}))
		must(t, s.PutBlocks(t.Context(), part, bulk, 3, [][]byte{[]byte("three")}))
		for no, text := range []string{"zero", "", "two", "three"} {
			want(t, fmt.Sprintf("block %d", no), block(t, s, part, bulk, uint32(no)), text)
		}
	}},
	{"a missing block is not found", func(t *testing.T, s store.Store) {
		must(t, s.PutBlocks(t.Context(), part, bulk, 0, [][]byte{[]byte("zero")}))
		_, err := s.GetBlock(t.Context(), part, bulk, 1)
		wantErr(t, err, store.ErrNotFound)
		_, err = s.GetBlock(t.Context(), other, bulk, 0)
		wantErr(t, err, store.ErrNotFound)
	}},
	{"writing a block again changes nothing", func(t *testing.T, s store.Store) {
		for range 2 {
			must(t, s.PutBlocks(t.Context(), part, bulk, 7, [][]byte{[]byte("seven"), []byte("eight")}))
		}
		want(t, "block 7", block(t, s, part, bulk, 7), "seven")
		want(t, "block 8", block(t, s, part, bulk, 8), "eight")
	}},
	{"blocks are copied both ways", func(t *testing.T, s store.Store) {
		mine := []byte("mine")
		must(t, s.PutBlocks(t.Context(), part, bulk, 0, [][]byte{mine}))
		copy(mine, "xxxx")
		yours, err := s.GetBlock(t.Context(), part, bulk, 0)
		must(t, err)
		copy(yours, "yyyy")
		want(t, "block after both slices were changed", block(t, s, part, bulk, 0), "mine")
	}},
	{"big blocks and many at once are taken", func(t *testing.T, s store.Store) {
		blocks := make([][]byte, 40)
		for i := range blocks {
			blocks[i] = slices.Repeat([]byte{byte(i)}, 300_000)
		}
		must(t, s.PutBlocks(t.Context(), part, bulk, 0, blocks))
		for i, b := range blocks {
			if got := block(t, s, part, bulk, uint32(i)); got != string(b) {
				t.Fatalf("block %d differs: %d bytes, want %d", i, len(got), len(b))
			}
		}
	}},
	{"deleting takes all blocks of one bulk action and of no other", func(t *testing.T, s store.Store) {
		ids := []weir.BulkID{"ba_a", "ba_aa", "ba_b"}
		for _, id := range ids {
			must(t, s.PutBlocks(t.Context(), part, id, 0, [][]byte{[]byte("0"), []byte("1")}))
		}
		must(t, s.PutBlocks(t.Context(), other, "ba_a", 0, [][]byte{[]byte("0")}))
		must(t, s.PutBlocks(t.Context(), part, "ba_none", 0, nil)) // has no blocks, so it owns none
		must(t, s.DeleteBlocks(t.Context(), part, "ba_a"))
		must(t, s.DeleteBlocks(t.Context(), part, "ba_none"))
		want(t, "owners", fmt.Sprint(owners(t, s, part)), "[ba_aa ba_b]")
		want(t, "owners elsewhere", fmt.Sprint(owners(t, s, other)), "[ba_a]")
		_, err := s.GetBlock(t.Context(), part, "ba_a", 1)
		wantErr(t, err, store.ErrNotFound)
	}},
	{"block owners are listed once each", func(t *testing.T, s store.Store) {
		want(t, "owners of nothing", len(owners(t, s, part)), 0)
		for first := range uint32(3) {
			must(t, s.PutBlocks(t.Context(), part, "ba_x", first*2, [][]byte{{1}, {2}}))
			must(t, s.PutBlocks(t.Context(), part, "ba_longer", first*2, [][]byte{{1}, {2}}))
		}
		want(t, "owners", fmt.Sprint(owners(t, s, part)), "[ba_longer ba_x]")
	}},
}

func block(t fataler, s store.Store, partition int, id weir.BulkID, no uint32) string {
	t.Helper()
	b, err := s.GetBlock(t.Context(), partition, id, no)
	must(t, err)
	return string(b)
}

// owners returns BlockOwners sorted, since a store may list them in any order.
func owners(t fataler, s store.Store, partition int) []weir.BulkID {
	t.Helper()
	ids, err := s.BlockOwners(t.Context(), partition)
	must(t, err)
	slices.Sort(ids)
	return ids
}
