package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// shot is a terminal that remembers what was written to it.
type shot struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shot) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shot) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// until waits until the terminal shows text.
func (s *shot) until(t *testing.T, text string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !strings.Contains(s.String(), text) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%q was never shown, but\n%s", text, s)
		}
	}
}

// terminal is an Env with a screen of 100 characters and keys to press.
func terminal(t *testing.T, args ...string) (Env, *shot, chan byte) {
	t.Helper()
	dir := t.TempDir()
	var users strings.Builder
	users.WriteString("id\n")
	for i := range 150 {
		users.WriteString("a" + number(i) + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "users.csv"), []byte(strings.ReplaceAll(users.String(), ",", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	scr, keys := &shot{}, make(chan byte)
	return Env{
		Args: args, Dir: dir, Stdout: scr, Stderr: scr,
		Terminal: &Terminal{Width: func() int { return 100 }, Keys: func() (<-chan byte, func()) { return keys, func() {} }},
	}, scr, keys
}

func TestKeysPauseGoOnAndStop(t *testing.T) {
	env, scr, keys := terminal(t, "run", "users.csv", "--action", "demo.award", "--rate", "80/s", "--batch", "10")
	code := make(chan int)
	go func() { code <- Main(t.Context(), env) }()
	scr.until(t, "p pause")
	keys <- 'p'
	scr.until(t, "you: paused")
	scr.until(t, "p resume")
	keys <- 'p'
	keys <- 'x' // means nothing
	keys <- 'q'
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit code = %d, want %d", got, exitInterrupted)
	}
	if !strings.Contains(scr.String(), "weir run --resume ba_") {
		t.Errorf("no resume command in\n%s", scr)
	}
	env.Args = []string{"run", "--resume", "--rate", "1000/s"}
	if got := Main(t.Context(), env); got != exitOK {
		t.Errorf("exit code after resume = %d, want %d\n%s", got, exitOK, scr)
	}
}

// stuck is a stdin that never says anything.
type stuck struct{ over chan struct{} }

func (s stuck) Read([]byte) (int, error) { <-s.over; return 0, os.ErrClosed }

func TestInterruptWhileReadingAcceptsNothing(t *testing.T) {
	env, scr, _ := terminal(t, "run", "-", "--action", "demo.award", "--format", "ndjson")
	in := stuck{make(chan struct{})}
	defer close(in.over)
	signals := make(chan os.Signal, 2)
	env.Stdin, env.Signals, env.Terminal = in, signals, nil
	code := make(chan int)
	go func() { code <- Main(t.Context(), env) }()
	signals <- os.Interrupt
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit code = %d, want %d", got, exitInterrupted)
	}
	if !strings.Contains(scr.String(), "nothing was accepted") {
		t.Errorf("stderr:\n%s", scr)
	}
}

func TestAnInterruptDoesNotForgetWhatWasAccepted(t *testing.T) {
	ended, hangs := make(chan error, 1), make(chan error)
	ended <- nil
	if err := whatNow(ended, errReading(), time.Minute); err != nil {
		t.Errorf("after a submit that came through: %v, want nil", err)
	}
	ended <- context.Canceled
	if err := whatNow(ended, errReading(), time.Minute); !interrupted(err) {
		t.Errorf("after a submit that was cancelled: %v, want the interrupt", err)
	}
	if err := whatNow(hangs, errReading(), time.Millisecond); !interrupted(err) {
		t.Errorf("while the input hangs: %v, want the interrupt", err)
	}
}

func TestStdinThatIsATerminal(t *testing.T) {
	env, scr, _ := terminal(t, "run", "-", "--action", "demo.award")
	env.StdinTerminal = true
	if got := Main(t.Context(), env); got != exitUsage || !strings.Contains(scr.String(), "stdin is a terminal") {
		t.Errorf("exit code %d:\n%s", got, scr)
	}
}

func TestColourOnlyWhereItIsSeen(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Env)
		want   bool
	}{
		{"on a terminal", func(*Env) {}, true},
		{"not with NO_COLOR", func(e *Env) { e.Getenv = func(string) string { return "1" } }, false},
		{"not with --no-color", func(e *Env) { e.Args = append(e.Args, "--no-color") }, false},
		{"not in a pipe", func(e *Env) { e.Terminal = nil }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env, scr, _ := terminal(t, "run", "users.csv", "--action", "demo.award", "--dry-run")
			tt.change(&env)
			if got := Main(t.Context(), env); got != exitOK {
				t.Fatalf("exit code = %d\n%s", got, scr)
			}
			if got := strings.Contains(scr.String(), "\x1b[2minput"); got != tt.want {
				t.Errorf("coloured = %v, want %v:\n%q", got, tt.want, scr)
			}
		})
	}
}

func TestAnInterruptEndsWhatCanBeDoneAgain(t *testing.T) {
	signals := make(chan os.Signal, 1)
	env := &Env{Signals: signals}
	ctx, cancel := env.untilSignal(t.Context())
	defer cancel()
	signals <- os.Interrupt
	<-ctx.Done()
	if f := explain(ctx.Err()); f.code != exitInterrupted {
		t.Errorf("exit code = %d, want %d", f.code, exitInterrupted)
	}
}

func TestTheReportThatCannotBeWrittenLosesNothing(t *testing.T) {
	env, scr, _ := terminal(t, "run", "users.csv", "--action", "demo.award", "--report", "out")
	env.Terminal = nil
	out := filepath.Join(env.Dir, "out")
	if err := os.MkdirAll(filepath.Join(out, "done.csv", "in-the-way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := Main(t.Context(), env); got != exitOther {
		t.Errorf("exit code = %d, want %d", got, exitOther)
	}
	if !strings.Contains(scr.String(), "the run is safe: write its report with weir report ba_") {
		t.Errorf("stderr:\n%s", scr)
	}
	env.Args = []string{"run", "--resume", "--report", "elsewhere"}
	if got := Main(t.Context(), env); got != exitOK {
		t.Errorf("exit code with another folder = %d\n%s", got, scr)
	}
}
