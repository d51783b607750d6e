//go:build unix

// Package life starts the test binary again as a process of its own, for tests
// that kill what they test: kill -9 has to be a real one.
//
// The new process runs one test alone, which finds in its environment what it
// shall do, and tells how far it is by lines of its standard output. It ends
// when its standard input does, at the latest, if it reads that to the end: so
// none outlives the test.
package life

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Process is one life of what is tested, in a process group of its own.
type Process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  chan string // what it says; closed when it says no more
	stderr stderr
	ended  func() error // waits for it, once
}

// stderr collects what a process wrote to standard error.
type stderr struct {
	mu   sync.Mutex
	said bytes.Buffer
}

// Write implements io.Writer.
func (s *stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(b)
}

// Stderr returns what the process has written to standard error so far.
func (p *Process) Stderr() string {
	p.stderr.mu.Lock()
	defer p.stderr.mu.Unlock()
	return p.stderr.said.String()
}

// Start starts a process that runs the named test, with more in its environment. It is killed when the test ends.
func Start(t testing.TB, test string, env ...string) *Process {
	t.Helper()
	p := &Process{cmd: exec.Command(os.Args[0], "-test.run=^"+test+"$"), lines: make(chan string, 16)} // it is killed by the test
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	p.ended = sync.OnceValue(p.cmd.Wait)
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil { // no call has waited for it
			_ = p.Signal(syscall.SIGKILL) // it may have ended by itself
			_ = p.Wait()
		}
	})
	return p
}

// Await returns what follows a word that the process says, or fails with what it said at its end.
func (p *Process) Await(word string) (string, error) {
	for line := range p.lines {
		if rest, ok := strings.CutPrefix(line, word); ok {
			return strings.TrimSpace(rest), nil
		}
	}
	return "", fmt.Errorf("the process ended before it said %q: %w", word, p.Wait())
}

// Signal sends a signal to the whole group.
func (p *Process) Signal(s syscall.Signal) error { return syscall.Kill(-p.cmd.Process.Pid, s) }

// Kill kills the process at once. It returns an error if the process has already ended by
// itself.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	switch err := p.Wait(); {
	case err == nil:
		return errors.New("the process ended well before it was killed")
	case Code(err) != -1:
		return fmt.Errorf("the process ended before it was killed: %w", err)
	}
	return nil
}

// Stop ends its standard input, and returns how it ended.
func (p *Process) Stop() error {
	_ = p.stdin.Close()
	return p.Wait()
}

// Wait returns when the process has ended and all it said has been read. The error has what it said on standard error.
func (p *Process) Wait() error {
	for range p.lines {
	}
	if err := p.ended(); err != nil {
		return fmt.Errorf("%w\n%s", err, p.Stderr())
	}
	return nil
}

// Code returns the exit code of a process that ended by itself with this error, -1 for one that
// was killed.
func Code(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -2
}
