package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirhq/weir/store"
)

func TestAListWithADamagedRecordSaysSo(t *testing.T) {
	s := openMem(t, vfs.NewMem(), Options{})
	defer s.Close()
	if _, err := s.Swap(t.Context(), "a", nil, []byte("sound")); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Set(recordKey("b"), store.SealRecord("a", []byte("another's")), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(t.Context(), "", "", 1); err != nil || len(list) != 1 {
		t.Errorf("List of the sound one = %v, %v; want it", list, err)
	}
	if list, err := s.List(t.Context(), "", "", 9); !errors.Is(err, store.ErrCorrupt) || list != nil {
		t.Errorf("List() = %v, %v; want ErrCorrupt", list, err)
	}
}

func TestLowSpaceRefusesNewRecordsAndNoOthers(t *testing.T) {
	disk := newSmallDisk(5 * gib)
	s := openMem(t, disk, Options{})
	defer s.Close()
	swap := func(name, old, value string) error {
		_, err := s.Swap(t.Context(), name, []byte(old), []byte(value))
		return err
	}
	if err := errors.Join(swap("a", "", "1"), swap("b", "", "1")); err != nil {
		t.Fatal(err)
	}
	disk.free.Store(gib/2 - 1)
	s.space.look(s)
	if err := swap("c", "", "1"); !errors.Is(err, store.ErrFull) {
		t.Errorf("Swap that makes a record = %v, want ErrFull", err)
	}
	if err := errors.Join(swap("a", "1", "2"), swap("b", "1", "")); err != nil {
		t.Errorf("Swaps that replace and remove = %v, want them done", err)
	}
}

// TestNothingIsAnsweredBeforeItIsDurable holds a sync back. A caller that would see what
// it is about, a record or that it was removed, has to wait.
func TestNothingIsAnsweredBeforeItIsDurable(t *testing.T) {
	for _, tt := range []struct {
		name string
		read func(ctx context.Context, s *Store) error
	}{
		{"a list", func(ctx context.Context, s *Store) error { _, err := s.List(ctx, "", "", 9); return err }},
		{"a lookup", func(ctx context.Context, s *Store) error { _, err := s.Lookup(ctx, "a"); return err }},
		{"a swap that loses", func(ctx context.Context, s *Store) error {
			_, err := s.Swap(ctx, "a", []byte("other"), nil)
			return err
		}},
	} {
		for _, removal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, removed: %v", tt.name, removal), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { answerWaits(t, removal, true, tt.read) })
			})
		}
	}
}

func TestALookupWaitsForNoOtherRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answerWaits(t, false, false, func(ctx context.Context, s *Store) error { _, err := s.Lookup(ctx, "b"); return err })
	})
}

// answerWaits checks whether a call waits for a record that is being written.
func answerWaits(t *testing.T, removal, waits bool, read func(ctx context.Context, s *Store) error) {
	var held atomic.Bool
	release := make(chan struct{})
	s := openMem(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if held.Load() && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo) {
			<-release
		}
		return nil
	})), Options{})
	defer s.Close()
	old, value := []byte(nil), []byte("one")
	if removal {
		if _, err := s.Swap(t.Context(), "a", nil, value); err != nil {
			t.Fatal(err)
		}
		old, value = value, nil
	}
	held.Store(true)
	written, answered := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Swap(t.Context(), "a", old, value)
		written <- err
	}()
	synctest.Wait()
	go func() { answered <- read(t.Context(), s) }()
	synctest.Wait()
	if len(written) != 0 || (len(answered) == 0) != waits {
		t.Errorf("%d writes and %d reads were answered before the sync", len(written), len(answered))
	}
	held.Store(false)
	close(release)
	if err := <-written; err != nil {
		t.Errorf("Swap() = %v", err)
	}
	if err := <-answered; err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Errorf("read = %v", err)
	}
}

// swaps is a story of lasting records: number i is done when it has been acknowledged.
var swaps = []struct{ name, old, value string }{
	{"a", "", "1"},
	{"b", "", "1"},
	{"a", "1", "2"},
	{"b", "1", ""},
	{"c", "", "1"},
	{"b", "", "2"},
	{"a", "2", ""},
	{"c", "1", ""},
}

// listAfter returns the records after the first n swaps.
func listAfter(n int) string {
	held := map[string]string{}
	for _, w := range swaps[:n] {
		if held[w.name] = w.value; w.value == "" {
			delete(held, w.name)
		}
	}
	return fmt.Sprint(held)
}

// TestRecordsSurviveACrashAtAnyMoment loses power before each write to a file: what
// is listed then is what the acknowledged swaps left, and perhaps the one under way.
// A file is also written in the background, where swaps may go on while the disk is copied.
func TestRecordsSurviveACrashAtAnyMoment(t *testing.T) {
	disk := vfs.NewCrashableMem()
	var done atomic.Int64
	var watching atomic.Bool
	type crash struct {
		disk        *vfs.MemFS
		before, now int64 // swaps acknowledged before and after the disk was copied
	}
	left := make(chan crash, 1000)
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if watching.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			at := done.Load()
			copied := crashed(disk, int(at%3)*50, uint64(at))
			left <- crash{copied, at, done.Load()}
		}
		return nil
	}))
	s := openMem(t, fs, Options{})
	watching.Store(true)
	for _, w := range swaps {
		if _, err := s.Swap(t.Context(), w.name, []byte(w.old), []byte(w.value)); err != nil {
			t.Fatal(err)
		}
		n := done.Add(1)
		left <- crash{crashed(disk, 0, 0), n, n} // and right after the answer
	}
	watching.Store(false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	close(left)
	for c := range left {
		var want []string
		for n := int(c.before); n <= min(int(c.now)+1, len(swaps)); n++ {
			want = append(want, listAfter(n))
		}
		if got := listOf(t, c.disk); !slices.Contains(want, got) {
			t.Errorf("after %d to %d swaps a crash left %s, want one of %q", c.before, c.now, got, want)
		}
	}
}

// listOf opens a store and lists its lasting records.
func listOf(t *testing.T, fs vfs.FS) string {
	t.Helper()
	s := openMem(t, fs, Options{})
	defer s.Close()
	list, err := s.List(t.Context(), "", "", 99)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for _, r := range list {
		held[r.Name] = string(r.Value)
	}
	return fmt.Sprint(held)
}
