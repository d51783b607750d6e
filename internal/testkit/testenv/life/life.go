//go:build unix

// Package life starts the test binary again as a process of its own, for tests
// that kill the code under test: kill -9 has to be a real one.
//
// The new process runs one test alone, which finds its task in the environment, and reports its
// progress in lines on standard output: a word, and what belongs to it. It ends at the latest
// when its standard input does, if it reads that to the end, so that no process outlives the test.
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

// Process is a running test binary, in a process group of its own.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	gone  chan struct{} // closed when it has ended
	err   error         // how it ended; set before gone is closed

	mu      sync.Mutex
	stderr  bytes.Buffer
	said    []string      // lines of standard output
	awaited int           // lines that Await has returned or passed over
	more    chan struct{} // closed when a line is added
}

// Start starts a process that runs the named test, with more in its environment. It is killed when the test ends.
func Start(t testing.TB, test string, env ...string) *Process {
	t.Helper()
	p := &Process{cmd: exec.Command(os.Args[0], "-test.run=^"+test+"$"), gone: make(chan struct{}), more: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stderr = stderr{p}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.listen(out)
	t.Cleanup(func() {
		if p.Running() {
			_ = p.Signal(syscall.SIGKILL) // it may just have ended
			<-p.gone
		}
	})
	return p
}

// listen collects the lines of the process until it has ended.
func (p *Process) listen(out io.Reader) {
	for s := bufio.NewScanner(out); s.Scan(); {
		p.mu.Lock()
		p.said = append(p.said, s.Text())
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
	}
	p.err = p.cmd.Wait()
	close(p.gone)
}

// stderr collects what the process writes to standard error.
type stderr struct{ *Process }

// Write implements io.Writer.
func (s stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.Write(b)
}

// Stderr returns what the process has written to standard error so far.
func (p *Process) Stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// Await waits for the next line that begins with a word, and returns the rest of it. It fails if the process ends first.
func (p *Process) Await(word string) (string, error) {
	for {
		rest, ok, more := p.next(word)
		if ok {
			return rest, nil
		}
		select {
		case <-more:
		case <-p.gone:
			if rest, ok, _ := p.next(word); ok { // said just before the end
				return rest, nil
			}
			return "", fmt.Errorf("the process ended before it said %q: %w", word, p.Wait())
		}
	}
}

// next passes over lines up to one that begins with a word. more is closed when another line is added.
func (p *Process) next(word string) (rest string, ok bool, more <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !ok && p.awaited < len(p.said) {
		rest, ok = strings.CutPrefix(p.said[p.awaited], word)
		p.awaited++
	}
	return strings.TrimSpace(rest), ok, p.more
}

// Last returns the rest of the last line that begins with a word, empty if there is none.
func (p *Process) Last(word string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.said) - 1; i >= 0; i-- {
		if rest, ok := strings.CutPrefix(p.said[i], word); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// Signal sends a signal to the whole group.
func (p *Process) Signal(s syscall.Signal) error { return syscall.Kill(-p.cmd.Process.Pid, s) }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

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

// Stop ends the standard input of the process, and returns how it ended.
func (p *Process) Stop() error {
	_ = p.stdin.Close()
	return p.Wait()
}

// Wait returns when the process has ended. The error includes its standard error.
func (p *Process) Wait() error {
	<-p.gone
	if p.err != nil {
		return fmt.Errorf("%w\n%s", p.err, p.Stderr())
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
