package pebblestore

import (
	"crypto/rand"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/store"
)

func TestSizeGrowsWithWhatIsStored(t *testing.T) {
	s := openMem(t, vfs.NewMem(), Options{})
	defer s.Close()
	before, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const much = 1 << 20
	raw := make([]byte, much)
	_, _ = rand.Read(raw) // never fails, and cannot be packed
	if err := s.PutBlocks(t.Context(), 0, "ba_1", 0, [][]byte{raw}); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Size(t.Context()); err != nil || after < before+much {
		t.Errorf("with a megabyte more the size went from %d to %d, %v", before, after, err)
	}
}

func TestAClosedStoreHasNoSize(t *testing.T) {
	s := openMem(t, vfs.NewMem(), Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Size(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Size = %d, %v; want %v", n, err, store.ErrClosed)
	}
}
