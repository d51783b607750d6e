package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/term"
)

// terminal is an Env with a screen of 100 characters and keys to press.
func terminal(t *testing.T, args ...string) (command.Env, *clitest.Shot, chan byte) {
	t.Helper()
	dir := t.TempDir()
	var users strings.Builder
	users.WriteString("id\n")
	for i := range 150 {
		users.WriteString("a" + term.Number(i) + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "users.csv"), []byte(strings.ReplaceAll(users.String(), ",", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	scr, keys := &clitest.Shot{}, make(chan byte)
	return command.Env{
		Args: args, Dir: dir, Stdout: scr, Stderr: scr,
		Terminal: &term.Terminal{Width: func() int { return 100 }, Keys: func() (<-chan byte, func()) { return keys, func() {} }},
	}, scr, keys
}

func TestKeysPauseGoOnAndStop(t *testing.T) {
	env, scr, keys := terminal(t, "run", "users.csv", "--action", "demo.award", "--rate", "80/s", "--batch", "10")
	code := make(chan int)
	go func() { code <- Main(t.Context(), env) }()
	scr.Until(t, "p pause")
	keys <- 'p'
	scr.Until(t, "you: it is paused")
	scr.Until(t, "p resume")
	keys <- 'p'
	keys <- 'x' // means nothing
	keys <- 'q'
	if got := <-code; got != command.ExitInterrupted {
		t.Errorf("exit code = %d, want %d", got, command.ExitInterrupted)
	}
	if !strings.Contains(scr.String(), "weir run --resume ba_") {
		t.Errorf("no resume command in\n%s", scr)
	}
	env.Args = []string{"run", "--resume", "--rate", "1000/s"}
	if got := Main(t.Context(), env); got != command.ExitOK {
		t.Errorf("exit code after resume = %d, want %d\n%s", got, command.ExitOK, scr)
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
	if got := <-code; got != command.ExitInterrupted {
		t.Errorf("exit code = %d, want %d", got, command.ExitInterrupted)
	}
	if !strings.Contains(scr.String(), "nothing was accepted") {
		t.Errorf("stderr:\n%s", scr)
	}
}

func TestStdinThatIsATerminal(t *testing.T) {
	env, scr, _ := terminal(t, "run", "-", "--action", "demo.award")
	env.StdinTerminal = true
	if got := Main(t.Context(), env); got != command.ExitUsage || !strings.Contains(scr.String(), "stdin is a terminal") {
		t.Errorf("exit code %d:\n%s", got, scr)
	}
}

func TestColourOnlyWhereItIsSeen(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*command.Env)
		want   bool
	}{
		{"on a terminal", func(*command.Env) {}, true},
		{"not with NO_COLOR", func(e *command.Env) { e.Getenv = func(string) string { return "1" } }, false},
		{"not with --no-color", func(e *command.Env) { e.Args = append(e.Args, "--no-color") }, false},
		{"not in a pipe", func(e *command.Env) { e.Terminal = nil }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env, scr, _ := terminal(t, "run", "users.csv", "--action", "demo.award", "--dry-run")
			tt.change(&env)
			if got := Main(t.Context(), env); got != command.ExitOK {
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
	env := &command.Env{Signals: signals}
	ctx, cancel := env.UntilSignal(t.Context())
	defer cancel()
	signals <- os.Interrupt
	<-ctx.Done()
	if f := command.Explain(ctx.Err()); f.Code != command.ExitInterrupted {
		t.Errorf("exit code = %d, want %d", f.Code, command.ExitInterrupted)
	}
}

func TestTheReportThatCannotBeWrittenLosesNothing(t *testing.T) {
	env, scr, _ := terminal(t, "run", "users.csv", "--action", "demo.award", "--report", "out")
	env.Terminal = nil
	out := filepath.Join(env.Dir, "out")
	if err := os.MkdirAll(filepath.Join(out, "done.csv", "in-the-way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := Main(t.Context(), env); got != command.ExitOther {
		t.Errorf("exit code = %d, want %d", got, command.ExitOther)
	}
	if !strings.Contains(scr.String(), "the run is safe: write its report with weir report ba_") {
		t.Errorf("stderr:\n%s", scr)
	}
	env.Args = []string{"run", "--resume", "--report", "elsewhere"}
	if got := Main(t.Context(), env); got != command.ExitOK {
		t.Errorf("exit code with another folder = %d\n%s", got, scr)
	}
}

func TestHelpFitsAndHasEveryFlagOnce(t *testing.T) {
	env, scr, _ := terminal(t, "run", "--help")
	env.Program = "mine"
	env.Terminal.Width = func() int { return 90 }
	if code := Main(t.Context(), env); code != command.ExitOK {
		t.Fatalf("exit code %d", code)
	}
	_, flags, _ := strings.Cut(scr.String(), "What to do")
	for _, l := range strings.Split(flags, "\n") {
		if term.Width(l) > 90 {
			t.Errorf("%d characters on a screen of 90: %q", term.Width(l), l)
		}
	}
	for _, want := range []string{"--action ", "--id ", "--rate ", "--report ", "--resume [ID] ", "--no-color ", "--help "} {
		if n := strings.Count(flags, " "+want); n != 1 {
			t.Errorf("%q is listed %d times", want, n)
		}
	}
	if s := scr.String(); !strings.Contains(s, "  mine run --resume") || strings.Contains(s, "weir run") {
		t.Errorf("the examples do not name the program:\n%s", s)
	}
}
