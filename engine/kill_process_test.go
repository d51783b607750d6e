//go:build unix

package engine_test

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

// child is a process of the kill tests, in a process group of its own.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  chan string // what it says; closed when it says no more
	stderr bytes.Buffer
}

func startChild(t *testing.T, role string, env ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0], "-test.run=^"+childTest+"$"), lines: make(chan string, 16)}
	c.cmd.Env = append(os.Environ(), append(env, envRole+"="+role)...)
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

// await returns what follows a word that the child says, or fails with what it said at its end.
func (c *child) await(word string) (string, error) {
	for line := range c.lines {
		if rest, ok := strings.CutPrefix(line, word); ok {
			return strings.TrimSpace(rest), nil
		}
	}
	return "", fmt.Errorf("child ended before it said %q: %w\n%s", word, c.wait(), c.stderr.String())
}

// signal goes to the whole group.
func (c *child) signal(s syscall.Signal) error { return syscall.Kill(-c.cmd.Process.Pid, s) }

// wait returns when the process has ended and all it said has been read.
func (c *child) wait() error {
	for range c.lines {
	}
	return c.cmd.Wait()
}

// exitCode is that of a process that ended by itself, -1 for one that was killed.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -2
}
