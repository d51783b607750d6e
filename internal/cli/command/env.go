package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/term"
)

// Env is everything that a command may touch.
type Env struct {
	// Program is the name it was called by. Default "weir".
	Program string
	// Args are the arguments, without the program.
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv reads the environment. Default: nothing is set.
	Getenv func(string) string
	// Dir is the working directory, against which relative paths are read.
	Dir string
	// Signals carries requests to stop: the first drains, the second aborts.
	Signals <-chan os.Signal
	// StdinTerminal reports that stdin is a terminal: no input is piped in.
	StdinTerminal bool
	// Secret reads a line from the keyboard without showing it; nil without a keyboard.
	Secret func() (string, error)
	// Terminal shows messages; nil if stderr is not a terminal.
	Terminal *term.Terminal
	// NoColour prints without colour.
	NoColour bool
	// Steps are the actions compiled in, besides the demo.
	Steps []weir.Step
}

// OS is the environment of this process.
func OS() Env {
	signals := make(chan os.Signal, 2) // the first drains, the second aborts; more say nothing new
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	dir, _ := os.Getwd() // empty: relative paths stay as they are
	env := Env{
		Program: filepath.Base(os.Args[0]), Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Dir: dir, Signals: signals, StdinTerminal: term.IsTerminal(os.Stdin),
	}
	if term.IsTerminal(os.Stderr) && os.Getenv("TERM") != "dumb" {
		env.Terminal = &term.Terminal{Width: func() int { return term.WidthOf(os.Stderr) }}
		if env.StdinTerminal {
			env.Terminal.Keys = func() (<-chan byte, func()) { return term.KeysOf(os.Stdin) }
			env.Secret = func() (string, error) { return term.SecretFrom(os.Stdin) }
		}
	}
	return env
}

// Fill sets what was left out.
func (e *Env) Fill() {
	if e.Program == "" || strings.HasSuffix(e.Program, ".test") {
		e.Program = "weir"
	}
	if e.Getenv == nil {
		e.Getenv = func(string) string { return "" }
	}
	e.NoColour = e.NoColour || e.Getenv("NO_COLOR") != "" || e.Terminal == nil
}

// Screen writes messages to stderr.
func (e *Env) Screen() *term.Screen { return term.NewScreen(e.Stderr, e.Terminal, !e.NoColour) }

// UntilSignal is ctx, ended by the first signal: for work that can simply be done again.
func (e *Env) UntilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-e.Signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// Path resolves a path that the user wrote.
func (e *Env) Path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(e.Dir, p)
}

// CanAsk reports whether a person can be asked.
func (e *Env) CanAsk() bool { return e.StdinTerminal && e.Terminal != nil }

// Confirm asks before a permanent change. Without a terminal it cannot ask,
// and --yes is required.
func (e *Env) Confirm(ctx context.Context, yes bool, format string, args ...any) error {
	if yes {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	if !e.CanAsk() {
		return BadUsage("confirm with --yes", "%s is permanent", what)
	}
	fmt.Fprintf(e.Stderr, "  %s is permanent. Continue? [y/N] ", what)
	answer, err := e.ReadLine(ctx)
	if err != nil {
		return err
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return Fail(ExitOther, "nothing was done", "")
	}
	return nil
}

// ReadLine reads a line of stdin, or ends with ctx: a read of a terminal cannot be taken back.
func (e *Env) ReadLine(ctx context.Context) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := firstLine(e.Stdin)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// firstLine reads at most one line of a file that has no other reader.
func firstLine(r io.Reader) (string, error) {
	text, err := bufio.NewReader(io.LimitReader(r, 4096)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text, err
}

// ReadArgument is a text that may be in a file: @FILE, or - for stdin.
func (e *Env) ReadArgument(text string) ([]byte, error) {
	switch {
	case text == "-":
		return io.ReadAll(e.Stdin)
	case len(text) > 1 && text[0] == '@':
		raw, err := os.ReadFile(e.Path(text[1:]))
		if err != nil {
			return nil, BadUsage("check the spelling; the path is taken from the working directory", "%v", err)
		}
		return raw, nil
	}
	return []byte(text), nil
}
