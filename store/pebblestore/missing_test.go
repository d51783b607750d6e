package pebblestore

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/store"
)

// TestMissingFilesAreNeverSilent takes away every file, and every two files, of a
// store that was closed and of one whose process was killed. The store has everything
// then, or does not open.
func TestMissingFilesAreNeverSilent(t *testing.T) {
	closed, was := told(t, 4)
	killed, then := usedTwice(t, true)
	for _, tt := range []struct {
		name string
		fs   *vfs.MemFS
		was  ledger
	}{{"closed", closed, was}, {"killed", killed, then}} {
		t.Run(tt.name, func(t *testing.T) {
			names, err := tt.fs.List("data/weir")
			if err != nil {
				t.Fatal(err)
			}
			refused := 0
			for i, one := range names {
				for _, two := range names[i:] { // the same: it alone
					err := inspect(t, without(t, tt.fs, one, two), tt.was)
					switch {
					case err == nil:
					case errors.Is(err, errRefused) && errors.Is(err, store.ErrCorrupt):
						refused++
					default:
						t.Errorf("without %s and %s: %v", one, two, err)
					}
				}
			}
			if refused < len(names) {
				t.Errorf("%d of the losses were found, want %d at least: the test takes nothing away", refused, len(names))
			}
		})
	}
}

// usedTwice is a store that was killed, used after its second start, and then killed again or closed.
func usedTwice(t *testing.T, killed bool) (*vfs.MemFS, ledger) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	var y story
	first := openMem(t, fs, Options{})
	defer first.Close()
	if err := y.run(t.Context(), first, 3); err != nil {
		t.Fatal(err)
	}
	image := crashed(fs, 100, 0)
	s := openMem(t, image, Options{})
	defer s.Close() // if killed: after its files were copied
	if err := y.run(t.Context(), s, 3); err != nil {
		t.Fatal(err)
	}
	if !killed {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return crashed(image, 100, 0), y.seen()
}

// without copies a store but for some files.
func without(t *testing.T, fs vfs.FS, gone ...string) *vfs.MemFS {
	t.Helper()
	return copied(t, fs, func(name string, data []byte) ([]byte, bool) { return data, !slices.Contains(gone, name) })
}
