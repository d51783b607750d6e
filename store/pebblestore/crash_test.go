package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// moment holds the files after a crash, and what had been acknowledged by then.
type moment struct {
	disk *vfs.MemFS
	was  ledger
	op   string
}

// TestCrashAtEveryFileOperation loses power before each operation on a file, in
// three ways: all that was not synced is gone, half of it, none of it.
func TestCrashAtEveryFileOperation(t *testing.T) {
	for way, percent := range []int{0, 50, 100} {
		moments := crashes(t, percent, uint64(way))
		if len(moments) < 100 {
			t.Fatalf("the story had %d operations, want 100 at least", len(moments))
		}
		for i, m := range moments {
			s, err := Open("data/weir", Options{FS: m.disk, Logger: quiet()})
			if err != nil {
				t.Fatalf("crash %d of %d, %d %% of unsynced data, before %s: %v", i, len(moments), percent, m.op, err)
			}
			if err := m.was.judge(t.Context(), s); err != nil {
				t.Errorf("crash %d of %d, %d %% of unsynced data, before %s: %v", i, len(moments), percent, m.op, err)
			}
			if err := s.Close(); err != nil {
				t.Fatalf("Close() = %v", err)
			}
		}
	}
}

// crashes runs a story and returns what a crash would leave at each moment of it.
func crashes(t *testing.T, percent int, seed uint64) []moment {
	disk := vfs.NewCrashableMem()
	var y story
	var moments []moment
	watch := make(chan moment)
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for m := range watch {
			moments = append(moments, m)
		}
	}()
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			was := y.seen() // before the copy: what is acknowledged in between only adds to it
			m := moment{disk: crashed(disk, percent, seed), was: was, op: op.Path}
			m.was.commitsBegun, m.was.appendsBegun = y.seen().commitsBegun, y.seen().appendsBegun
			watch <- m
		}
		return nil
	}))
	for range 2 { // the second time it opens what the first has left
		s := openMem(t, fs, Options{})
		if err := y.run(t.Context(), s, 3); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(watch)
	<-collected
	return moments
}
