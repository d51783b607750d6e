package pebblestore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirhq/weir/store"
)

// smallDisk says how much is free, in place of a real disk.
type smallDisk struct {
	vfs.FS
	free atomic.Uint64
}

const gib = 1 << 30

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 10 * gib}, nil
}

func newSmallDisk(free uint64) *smallDisk {
	d := &smallDisk{FS: vfs.NewMem()}
	d.free.Store(free)
	return d
}

func TestLowSpaceRefusesNewWorkFirst(t *testing.T) {
	disk := newSmallDisk(5 * gib)
	s := openMem(t, disk, Options{})
	defer s.Close()
	var y story
	for _, tt := range []struct {
		name                string
		free                uint64
		blocks, big, little bool // taken
	}{
		{"plenty takes all", 5 * gib, true, true, true},
		{"below a tenth takes commands only", gib - 1, false, false, true},
		{"below a twentieth takes nothing new", gib/2 - 1, false, false, false},
		{"space that is back takes all again", 5 * gib, true, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			disk.free.Store(tt.free)
			s.space.look(s)
			check := func(what string, err error, taken bool) {
				if taken != (err == nil) || !taken && !errors.Is(err, store.ErrFull) {
					t.Errorf("%s = %v, want it taken: %v", what, err, taken)
				}
				if err != nil && !strings.HasSuffix(err.Error(), "lower MinFree (limits.min_free of a server), now 1024 MiB") {
					t.Errorf("%s = %v, want the setting and its value", what, err)
				}
			}
			check("PutBlocks", s.PutBlocks(t.Context(), 0, "ba_1", 0, [][]byte{{1}}), tt.blocks)
			check("Append of much", s.Append(t.Context(), 0, make([]byte, smallMessage+1), store.Claim{}), tt.big)
			check("Append of little", s.Append(t.Context(), 0, make([]byte, smallMessage), store.Claim{}), tt.little)
			check("Health", s.Health(), tt.little)
			if err := y.commitOnce(t, s); err != nil {
				t.Errorf("Commit = %v, want running work to go on", err)
			}
		})
	}
}

func (y *story) commitOnce(t *testing.T, s *Store) error {
	tok, err := s.Acquire(t.Context(), storyPartition, "story", 0)
	if err != nil {
		return err
	}
	return y.commit(t.Context(), s, tok)
}

func TestAFullDiskIsNotOpened(t *testing.T) {
	_, err := Open("data/weir", Options{FS: newSmallDisk(1 << 20), Logger: quiet()})
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("Open on a full disk = %v, want ErrFull and what to do", err)
	}
	s := openMem(t, newSmallDisk(1<<20), Options{MinFree: -1})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A store whose logs do not fit into the free space once more is not opened: Pebble would wait for ever.
func TestAStoreIsNotOpenedWithoutRoomForItsLogs(t *testing.T) {
	mem := vfs.NewCrashableMem()
	disk := &smallDisk{FS: mem}
	disk.free.Store(9 * gib)
	s := openMem(t, disk, Options{MinFree: 8 << 20})
	defer s.Close()
	if err := s.PutBlocks(t.Context(), 0, "ba_1", 0, [][]byte{make([]byte, 12<<20)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), 0, []byte("created"), store.Claim{}); err != nil {
		t.Fatal(err)
	}
	left := &smallDisk{FS: crashed(mem, 0, 1)}
	left.free.Store(10 << 20)
	_, err := Open("data/weir", Options{FS: left, MinFree: 8 << 20, Logger: quiet()})
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), "opening takes up to 12 MiB") {
		t.Fatalf("Open with 10 MiB free = %v, want ErrFull and how much it takes", err)
	}
	left.free.Store(14 << 20)
	if err := openMem(t, left, Options{MinFree: 8 << 20}).Close(); err != nil {
		t.Error(err)
	}
}

// The logs of a small disk stay so small that the space that is kept free suffices to open the store again.
func TestASmallDiskHasSmallMemtables(t *testing.T) {
	for _, tt := range []struct{ disk, want int64 }{{64 << 20, 1 << 20}, {512 << 20, 8 << 20}, {100 << 30, memtableBytes}} {
		var sp space
		s := &Store{dir: "d", fs: sizedDisk{vfs.NewMem(), uint64(tt.disk)}, opts: Options{Ballast: -1}}
		if err := s.fs.MkdirAll("d", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := sp.prepare(s); err != nil || sp.memtable != tt.want {
			t.Errorf("disk of %d MiB: memtables of %d bytes, %v; want %d", tt.disk>>20, sp.memtable, err, tt.want)
		}
	}
}

// sizedDisk is empty and of a size.
type sizedDisk struct {
	vfs.FS
	size uint64
}

func (d sizedDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.size, TotalBytes: d.size}, nil
}

func TestTheBallastTakesSpaceAndGivesItBack(t *testing.T) {
	dir := t.TempDir()
	const size = 4 << 20
	s, err := Open(dir, Options{Ballast: size, MinFree: 1, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	i, err := os.Stat(filepath.Join(dir, ballastFile))
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := i.Sys().(*syscall.Stat_t); ok && st.Blocks*512 < size {
		t.Errorf("ballast takes %d bytes of the disk, want %d", st.Blocks*512, size)
	}
	s.diskFull()
	if _, err := os.Stat(filepath.Join(dir, ballastFile)); !os.IsNotExist(err) {
		t.Errorf("ballast after the disk was full: %v, want it gone", err)
	}
}

// TestAFullDiskLetsRunningWorkGoOn has no space for the log until the ballast is gone.
func TestAFullDiskLetsRunningWorkGoOn(t *testing.T) {
	disk := newSmallDisk(5 * gib)
	var full atomic.Bool
	inner := disk.FS
	disk.FS = errorfs.Wrap(inner, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if _, err := inner.Stat("data/weir/" + ballastFile); full.Load() && err == nil && op.Kind == errorfs.OpFileWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	s := openMem(t, disk, Options{Ballast: 1 << 20, OnFatal: func(err error) { t.Errorf("store broke: %v", err) }})
	var y story
	if err := y.run(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	if err := y.commitOnce(t, s); err != nil {
		t.Errorf("Commit on a full disk with a ballast = %v", err)
	}
	for _, blocks := range [][][]byte{{{1}}, nil} {
		if err := s.PutBlocks(t.Context(), 0, "ba_1", 0, blocks); !errors.Is(err, store.ErrFull) {
			t.Errorf("PutBlocks of %d blocks after the disk was full = %v, want ErrFull", len(blocks), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// fillingDisk has no space left for the files whose names contain full, and tells when one has met that.
type fillingDisk struct {
	vfs.FS
	full atomic.Pointer[string]
	met  chan struct{}
}

func newFillingDisk() *fillingDisk {
	d := &fillingDisk{met: make(chan struct{}, 1)}
	d.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		full := d.full.Load()
		if full == nil || !strings.Contains(op.Path, *full) || op.Kind != errorfs.OpFileWrite && op.Kind != errorfs.OpCreate {
			return nil
		}
		select {
		case d.met <- struct{}{}:
		default:
		}
		return syscall.ENOSPC
	}))
	return d
}

// TestAFullDiskMakesCommitsWait fills the disk for good, for one kind of file at a time and for all, while a log is
// begun and commits go on. Readers are answered, and once there is space nothing is missing.
func TestAFullDiskMakesCommitsWait(t *testing.T) {
	for _, full := range []string{"WATERMARK", logSuffix, "MANIFEST", ".sst", ""} {
		t.Run("no space for "+full, func(t *testing.T) {
			disk := newFillingDisk()
			s := openMem(t, disk, Options{OnFatal: func(err error) { t.Errorf("store broke: %v", err) }})
			var y story
			if err := y.run(t.Context(), s, 3); err != nil {
				t.Fatal(err)
			}
			disk.full.Store(&full)
			ended := make(chan error, 2)
			go func() { ended <- s.db.Flush() }()
			go func() { ended <- y.commitOnce(t, s) }()
			<-disk.met
			if row, err := s.Get(t.Context(), storyPartition, []byte("row 000003")); string(row) != "there" || err != nil {
				t.Errorf("Get() on a full disk = %q, %v", row, err)
			}
			disk.full.Store(nil)
			if err := errors.Join(<-ended, <-ended, y.run(t.Context(), s, 3), s.Close()); err != nil {
				t.Fatal(err)
			}
			if err := inspect(t, disk, y.seen()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAnObsoleteLogGivesItsSpaceBackOnAFullDisk removes one that cannot be struck off the watermark.
func TestAnObsoleteLogGivesItsSpaceBackOnAFullDisk(t *testing.T) {
	disk := newFillingDisk()
	s := openMem(t, disk, Options{})
	const log = "data/weir/000001.log"
	if err := writeFile(disk, log, []byte("obsolete")); err != nil {
		t.Fatal(err)
	}
	full := "WATERMARK"
	disk.full.Store(&full)
	if err := (failStop{disk, s}).Remove(log); !isFull(err) {
		t.Errorf("Remove() = %v, want no space", err)
	}
	if i, err := disk.Stat(log); err != nil || i.Size() != 0 {
		t.Errorf("log after it was removed on a full disk: %v, %v; want it empty", i, err)
	}
	disk.full.Store(nil)
	if err := errors.Join(s.Close(), openMem(t, disk, Options{}).Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Stat(log); err == nil {
		t.Error("the log is still there after the store was opened again")
	}
}

// silentDisk has no idea how big it is, as some network file systems have not.
type silentDisk struct{ vfs.FS }

func (silentDisk) GetDiskUsage(string) (vfs.DiskUsage, error) { return vfs.DiskUsage{}, nil }

func TestADiskThatDoesNotTellItsSpaceIsNotWatched(t *testing.T) {
	s := openMem(t, silentDisk{vfs.NewMem()}, Options{MinFree: gib, Ballast: 1 << 20})
	defer s.Close()
	if err := errors.Join(s.Health(), s.PutBlocks(t.Context(), 0, "ba_1", 0, [][]byte{{1}})); err != nil {
		t.Error(err)
	}
}

// plainDisk cannot take space without writing to it.
type plainDisk struct{ *smallDisk }

type plainFile struct{ vfs.File }

func (d plainDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.smallDisk.Create(name, c)
	return plainFile{f}, err
}

func (plainFile) Preallocate(int64, int64) error { return syscall.EOPNOTSUPP }

func TestTheBallastIsWrittenWhereItCannotBeReserved(t *testing.T) {
	const size = 3<<20 + 5
	disk := plainDisk{newSmallDisk(5 * gib)}
	s := openMem(t, disk, Options{Ballast: size})
	defer s.Close()
	i, err := disk.Stat("data/weir/" + ballastFile)
	if err != nil || i.Size() != size {
		t.Errorf("ballast = %v, %v; want %d bytes", i, err, size)
	}
}
