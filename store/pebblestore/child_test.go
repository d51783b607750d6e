package pebblestore

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Some tests need a process that may die. They start this test binary again, with
// the role and its argument in a variable.
const childVar = "WEIR_PEBBLESTORE_CHILD"

func childCommand(t *testing.T, role, arg string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+role+":"+arg)
	cmd.Stderr = os.Stderr
	return cmd
}

// child plays the role, and reports whether there was one.
func child(v string) bool {
	role, arg, ok := strings.Cut(v, ":")
	if !ok {
		return false
	}
	var err error
	switch role {
	case "write":
		err = childWrite(arg)
	case "errors":
		err = childErrors()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// childWrite works in dir until it is killed, and tells of each acknowledgement.
func childWrite(dir string) error {
	ctx := context.Background()
	s, err := Open(dir, Options{Ballast: -1, Logger: quiet()})
	if err != nil {
		return err
	}
	var y story
	last, err := s.Last(ctx, storyPartition)
	if err != nil {
		return err
	}
	y.was.commitsBegun = last.Number
	if y.was.appendsBegun, err = s.newest(storyPartition); err != nil {
		return err
	}
	for {
		if err := y.run(ctx, s, 1); err != nil {
			return err
		}
		fmt.Println(y.was.commits, y.was.appends)
	}
}

func TestKilledWriterLosesNothing(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		was := killed(t, dir, random.IntN(40))
		s, err := Open(dir, Options{Ballast: -1, Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		if err := was.judge(t.Context(), s); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killed starts a writer, kills it soon after it has acknowledged something, and returns what it had said.
func killed(t *testing.T, dir string, rounds int) ledger {
	cmd := childCommand(t, "write", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	was := ledger{}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		if _, err := fmt.Sscan(lines.Text(), &was.commits, &was.appends); err != nil {
			t.Fatalf("writer said %q: %v", lines.Text(), err)
		}
		if n == rounds {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || was.commits == 0 {
		t.Fatalf("writer ended with %v after %d commits, want it killed", err, was.commits)
	}
	was.commitsBegun, was.appendsBegun = was.commits+1, was.appends+1
	return was
}

// TestErrorAtEveryFileOperation runs in a process of its own, because a store
// that breaks leaves Pebble's goroutines behind.
func TestErrorAtEveryFileOperation(t *testing.T) {
	cmd := childCommand(t, "errors", "")
	if err := cmd.Run(); err != nil {
		t.Errorf("a store with an error at some operation: %v", err)
	}
}

func childErrors() error {
	for k := int32(0); ; k++ {
		injected, err := errorAt(k)
		if err != nil {
			return fmt.Errorf("error at operation %d: %w", k, err)
		}
		if !injected {
			if k < 100 {
				return fmt.Errorf("the story had %d operations, want 100 at least", k)
			}
			return nil
		}
	}
}

// errorAt runs a story whose k-th file operation fails, then a loss of power,
// and opens what is left. It reports whether there was a k-th.
func errorAt(k int32) (injected bool, err error) {
	disk := vfs.NewCrashableMem()
	var ops atomic.Int32
	var y story
	broken := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s, err := Open("data/weir", Options{
			FS: errorfs.Wrap(disk, errorfs.InjectorFunc(func(errorfs.Op) error {
				if ops.Add(1)-1 == k {
					return errorfs.ErrInjected
				}
				return nil
			})), Logger: quiet(),
			OnFatal: func(error) { close(broken) },
		})
		if err != nil {
			return // refused: fine
		}
		if err := y.run(context.Background(), s, 4); err == nil {
			_ = s.Close()
		}
	}()
	select {
	case <-broken:
	case <-ended:
	case <-time.After(10 * time.Second):
		return true, fmt.Errorf("hangs")
	}
	was := y.seen()
	s, err := Open("data/weir", Options{FS: crashed(disk, 50, uint64(k)), Logger: quiet()})
	if err != nil {
		return true, err
	}
	was.commitsBegun, was.appendsBegun = y.seen().commitsBegun, y.seen().appendsBegun
	if err := was.judge(context.Background(), s); err != nil {
		return true, err
	}
	return ops.Load() > k, s.Close()
}
