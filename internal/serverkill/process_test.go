//go:build unix

package serverkill

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// child is one life of the server, in a process group of its own.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  chan string // what it says; closed when it says no more
	stderr bytes.Buffer
}

func startChild(t *testing.T, env ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0], "-test.run=^"+childTest+"$"), lines: make(chan string, 16)}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Stderr = &c.stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	return c
}

// ready returns where the server answers, once it does.
func (c *child) ready() (string, error) {
	for line := range c.lines {
		if url, ok := strings.CutPrefix(line, "ready "); ok {
			return url, nil
		}
	}
	return "", fmt.Errorf("the server ended before it was ready: %w\n%s", c.wait(), c.stderr.String())
}

// kill ends it at once. One that has ended by itself is an error: it should not.
func (c *child) kill() error {
	if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	var exit *exec.ExitError
	if err := c.wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		return fmt.Errorf("the server ended before it was killed: %w\n%s", err, c.stderr.String())
	}
	return nil
}

// stop ends it as an operator does, and returns how that went.
func (c *child) stop() error {
	_ = c.stdin.Close()
	if err := c.wait(); err != nil {
		return fmt.Errorf("the server did not stop cleanly: %w\n%s", err, c.stderr.String())
	}
	return nil
}

// wait returns when the process has ended and all it said has been read.
func (c *child) wait() error {
	for range c.lines {
	}
	return c.cmd.Wait()
}
