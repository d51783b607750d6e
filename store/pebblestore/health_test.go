package pebblestore

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirhq/weir/store"
)

func TestAWriteThatDoesNotEndTurnsHealthRed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stuck atomic.Pointer[chan struct{}]
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if c := stuck.Load(); c != nil && strings.HasSuffix(op.Path, logSuffix) {
				<-*c
			}
			return nil
		}))
		s := openMem(t, fs, Options{})
		var y story
		if err := y.run(t.Context(), s, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(padAfter * 2)
		free := make(chan struct{})
		stuck.Store(&free)
		ended := make(chan error)
		go func() { ended <- y.commitOnce(t, s) }()
		time.Sleep(stuckAfter - time.Second)
		if err := s.Health(); err != nil {
			t.Errorf("Health() after 4 s = %v, want nil", err)
		}
		time.Sleep(2 * time.Second)
		if err := s.Health(); err == nil {
			t.Error("Health() after 6 s = nil, want an error")
		}
		close(free)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := errors.Join(s.Health(), s.Close()); err != nil {
			t.Errorf("after the disk came back: %v", err)
		}
	})
}

// TestAProbeFindsThatFilesAreGone removes the directory of an open store, or one of its files.
func TestAProbeFindsThatFilesAreGone(t *testing.T) {
	for _, part := range []string{"", ".log", "marker.manifest", "MANIFEST-"} {
		fs := vfs.NewMem()
		s := openMem(t, fs, Options{})
		if err := s.Probe(t.Context(), 0); err != nil {
			t.Fatalf("Probe() of a sound store = %v", err)
		}
		for name := range s.note.files {
			if strings.Contains(name, part) {
				if err := fs.Remove("data/weir/" + name); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Probe(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "was removed") {
			t.Errorf("Probe() without %q = %v, want an error", part, err)
		}
		_ = s.Close()
	}
}

// TestABrokenStoreStaysBroken does without a disk that fails, which would leave goroutines behind.
func TestABrokenStoreStaysBroken(t *testing.T) {
	var told []error
	s := openMem(t, vfs.NewMem(), Options{OnFatal: func(err error) { told = append(told, err) }})
	waiting := make(chan error, 1)
	go func() {
		_, err := s.Read(context.WithoutCancel(t.Context()), 0, 0, 1)
		waiting <- err
	}()
	cause := errors.New("no disk")
	for range 2 {
		if err := s.guard.fail(cause); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, cause) {
			t.Errorf("fail() = %v, want ErrUnknown and the cause", err)
		}
	}
	if len(told) != 1 || !errors.Is(told[0], cause) {
		t.Errorf("OnFatal was told %v, want %v once", told, cause)
	}
	for what, err := range map[string]error{
		"Append":       s.Append(t.Context(), 0, nil, store.Claim{}),
		"Health":       s.Health(),
		"Close":        s.Close(),
		"waiting Read": <-waiting,
	} {
		if !errors.Is(err, cause) {
			t.Errorf("%s = %v, want the cause", what, err)
		}
	}
	if err := errors.Join(s.tail.stop(), s.db.Close(), s.lock.Close()); err != nil {
		t.Error(err)
	}
}
