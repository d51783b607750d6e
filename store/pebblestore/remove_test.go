package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/store"
)

// rangeTombstones counts those in all files, after what is in memory has become one.
func rangeTombstones(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	tables, err := s.db.SSTables(pebble.WithProperties())
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range tables {
		for _, table := range level {
			n += int(table.Properties.NumRangeDeletions)
		}
	}
	return n
}

// A bulk action that has come and gone leaves nothing behind that makes reads of
// others dearer, however many there were.
func TestWhatIsRemovedLeavesNoRangeTombstones(t *testing.T) {
	s, err := Open("store", Options{FS: vfs.NewMem(), Mode: Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	tok, err := s.Acquire(t.Context(), 0, "owner", 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(100) {
		err := s.PutBlocks(t.Context(), 0, "ba_1", 0, [][]byte{[]byte("items")})
		if err == nil {
			err = s.Append(t.Context(), 0, []byte("created"), store.Claim{})
		}
		if err == nil {
			err = s.Commit(t.Context(), 0, tok, &store.Batch{Number: i + 1, Ack: i + 1})
		}
		if err == nil {
			err = s.DeleteBlocks(t.Context(), 0, "ba_1")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := rangeTombstones(t, s); n > 0 {
		t.Errorf("100 bulk actions of one block left %d range tombstones, want none", n)
	}
}

func TestManyBlocksAreRemovedAtOnce(t *testing.T) {
	s, err := Open("store", Options{FS: vfs.NewMem(), Mode: Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	blocks := make([][]byte, fewKeys+1)
	for i := range blocks {
		blocks[i] = []byte("items")
	}
	if err := s.PutBlocks(t.Context(), 0, "ba_1", 0, blocks); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteBlocks(t.Context(), 0, "ba_1"); err != nil {
		t.Fatal(err)
	}
	owners, err := s.BlockOwners(t.Context(), 0)
	if err != nil || len(owners) > 0 {
		t.Errorf("BlockOwners = %v, %v; want none", owners, err)
	}
}
