package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/weirhq/weir"
	"golang.org/x/term"
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
	Terminal *Terminal
	// NoColour prints without colour.
	NoColour bool
	// Steps are the actions compiled in, besides the demo.
	Steps []weir.Step
}

// Terminal holds what the live panel needs of a terminal.
type Terminal struct {
	// Width returns the characters per line.
	Width func() int
	// Keys starts to read single keys, until the function it returns is called. Nil: no keys can be read.
	Keys func() (keys <-chan byte, restore func())
}

// OS is the environment of this process.
func OS() Env {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	dir, _ := os.Getwd() // empty: relative paths stay as they are
	env := Env{
		Program: filepath.Base(os.Args[0]), Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Dir: dir, Signals: signals, StdinTerminal: term.IsTerminal(int(os.Stdin.Fd())),
	}
	if term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb" {
		env.Terminal = &Terminal{Width: stderrWidth}
		if env.StdinTerminal {
			env.Terminal.Keys, env.Secret = stdinKeys, stdinSecret
		}
	}
	return env
}

// fill sets what was left out.
func (e *Env) fill() {
	if e.Program == "" || strings.HasSuffix(e.Program, ".test") {
		e.Program = "weir"
	}
	if e.Getenv == nil {
		e.Getenv = func(string) string { return "" }
	}
	e.NoColour = e.NoColour || e.Getenv("NO_COLOR") != "" || e.Terminal == nil
}

// untilSignal is ctx, ended by the first signal: for work that can simply be done again.
func (e *Env) untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
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

// path resolves a path that the user wrote.
func (e *Env) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(e.Dir, p)
}

func stderrWidth() int {
	w, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil || w <= 0 {
		return 80
	}
	return w
}

func stdinSecret() (string, error) {
	raw, err := term.ReadPassword(int(os.Stdin.Fd()))
	return string(raw), err
}

// stdinKeys reads keys as they are pressed. The goroutine that reads ends with
// the process: a read of a terminal cannot be taken back.
func stdinKeys() (<-chan byte, func()) {
	fd := int(os.Stdin.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, func() {}
	}
	keys := make(chan byte)
	go func() {
		one := make([]byte, 1)
		for {
			if n, err := os.Stdin.Read(one); err != nil || n == 0 {
				return
			}
			keys <- one[0]
		}
	}()
	return keys, func() { _ = term.Restore(fd, before) } // nothing else could be done
}
