package pebblestore

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/storetest"
)

func TestMain(m *testing.M) {
	if child(os.Getenv(childVar)) {
		return
	}
	goleak.VerifyTestMain(m)
}

// quiet keeps expected errors out of the test's output.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// openMem opens a store on a file system in memory.
func openMem(t testing.TB, fs vfs.FS, o Options) *Store {
	t.Helper()
	o.FS, o.Logger = fs, quiet()
	s, err := Open("data/weir", o)
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	return s
}

// crashed returns what a loss of power at this moment could leave of fs: all
// that was synced, and some of what was not.
func crashed(fs *vfs.MemFS, percent int, seed uint64) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 0))})
}

func TestConformance(t *testing.T) {
	disks := map[store.Store]*vfs.MemFS{}
	open := func(t *testing.T, fs *vfs.MemFS) store.Store {
		s := openMem(t, fs, Options{})
		disks[s] = fs
		return s
	}
	seed := uint64(0)
	storetest.RunBackend(t, storetest.Backend{
		Open: func(t *testing.T) store.Store { return open(t, vfs.NewCrashableMem()) },
		Reopen: func(t *testing.T, s store.Store) store.Store {
			seed++
			after := crashed(disks[s], int(seed%3)*50, seed)
			if err := s.Close(); err != nil { // changes the old file system alone
				t.Fatalf("Close() = %v", err)
			}
			return open(t, after)
		},
	})
}

func TestConformanceOnDiskInMemoryMode(t *testing.T) {
	open := func(t *testing.T, dir string) store.Store {
		s, err := Open(dir, Options{Mode: Memory, Ballast: -1, Logger: quiet()})
		if err != nil {
			t.Fatalf("Open() = %v", err)
		}
		return s
	}
	storetest.RunBackend(t, storetest.Backend{
		Open: func(t *testing.T) store.Store { return open(t, t.TempDir()) },
		Reopen: func(t *testing.T, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Fatalf("Close() = %v", err)
			}
			return open(t, s.(*Store).dir)
		},
	})
}

func TestOpenRefusesADirectoryThatIsOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	s, err := Open(dir, Options{Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = Open(dir, Options{Ballast: -1})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("second Open() = %v, want an error that names %s and the reason", err, dir)
	}
	i, err := os.Stat(dir)
	if err != nil || i.Mode().Perm() != 0o700 {
		t.Errorf("mode of the directory = %v, %v; want 0700", i.Mode(), err)
	}
}

func TestAnIDThatIsTooLongIsRefused(t *testing.T) {
	s := openMem(t, vfs.NewMem(), Options{})
	defer s.Close()
	err := s.PutBlocks(t.Context(), 0, "", 0, [][]byte{{1}})
	if err == nil || errors.Is(err, store.ErrUnknown) {
		t.Errorf("PutBlocks without an id = %v, want an error", err)
	}
}
