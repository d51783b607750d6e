//go:build unix

package docstest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// terminal is a shell in which a reader of a page types one command after the other. Unlike [shell], it is the shell of
// the system, in a directory of its own, and it runs programs in the background. All of them end with the test.
type terminal struct {
	in    io.Writer
	out   *bufio.Reader
	ports map[string]string // of the page, and those that are used instead
}

// patience is how long a command may take. None of the pages needs a tenth of it on a machine that does nothing else.
const patience = 2 * time.Minute

// openTerminal starts a shell that finds weir, and uses free ports instead of those of the page.
func openTerminal(t *testing.T, pagePorts ...string) *terminal {
	t.Helper()
	dir, bin, ports := t.TempDir(), t.TempDir(), map[string]string{}
	for _, p := range pagePorts {
		ports[p] = freePort(t)
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(bin, weirProgram))
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, "sh")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=dumb", "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CONFIG_HOME="+dir+"/.config",
		"WEIR_LISTEN=127.0.0.1:"+ports[weirPort], "WEIR_SERVER=http://localhost:"+ports[weirPort])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // what it started, too
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // killed
		_ = errors.Join(w.Close(), out.Close())
	})
	return &terminal{in: in, out: bufio.NewReader(out), ports: ports}
}

// endMark begins the line after the output of a command. The exit code follows.
const endMark = "== exit code of the command "

// run types a command and returns what it prints, and an error if its exit code is neither 0 nor one of good.
func (s *terminal) run(ctx context.Context, c *command, good ...int) (string, error) {
	text := c.text
	if _, word, ok := strings.Cut(text, "<<'"); ok {
		text += "\n" + strings.Join(append(c.input, strings.TrimSuffix(word, "'")), "\n")
	}
	text = s.swap(text, false)
	// In braces, and with no input, so that the program does not read what is typed next.
	if _, err := fmt.Fprintf(s.in, "{\n%s\n} </dev/null 2>&1\necho \"\n%s$?\"\n", text, endMark); err != nil {
		return "", err
	}
	done := make(chan printed, 1)
	go func() { done <- s.printed() }()
	var p printed
	select {
	case p = <-done:
	case <-time.After(patience):
		return "", fmt.Errorf("has not ended after %v", patience)
	}
	p.text = s.swap(p.text, true)
	switch {
	case p.err != nil:
		return p.text, p.err
	case background.MatchString(c.text):
		return p.text, s.listening(ctx, c.text)
	}
	return p.text, exitCode(p.code, good)
}

// swap writes the ports that are used instead of those of the page, or those of the page again.
func (s *terminal) swap(text string, back bool) string {
	var pairs []string
	for page, real := range s.ports {
		if back {
			page, real = real, page
		}
		pairs = append(pairs, page, real)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// background matches the commands after which a page keeps the number of a process that it will stop.
var background = regexp.MustCompile(` & [A-Z]+=\$!$`)

// printed is the output of a command and its exit code.
type printed struct {
	text, code string
	err        error
}

// printed reads the output of one command.
func (s *terminal) printed() (p printed) {
	var b strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		code, ended := strings.CutPrefix(line, endMark)
		if ended || err != nil {
			return printed{strings.TrimRight(b.String(), "\n"), strings.TrimSpace(code), err}
		}
		b.WriteString(line)
	}
}

func exitCode(text string, good []int) error {
	code, err := strconv.Atoi(text)
	for _, g := range append(good, 0) {
		if err == nil && code == g {
			return nil
		}
	}
	return errors.Join(err, fmt.Errorf("exit code %s", text))
}

// listening waits until a program in the background can be reached, as a reader does without noticing it.
func (s *terminal) listening(ctx context.Context, command string) error {
	port := s.ports[endpointPort]
	if strings.HasPrefix(command, weirProgram+" ") {
		port = s.ports[weirPort]
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", "localhost:"+port)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(end) {
			return fmt.Errorf("cannot be reached: %w", err)
		}
	}
}

// freePort returns a port that nothing uses, and neither the one 10,000 above, on which a server of a Redis Cluster talks
// to the others.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		if port := free(t, 0); 0 < port && port < 50000 && free(t, port+10000) > 0 {
			return strconv.Itoa(port)
		}
	}
	t.Fatal("no free port found")
	return ""
}

// free returns the port if nothing uses it, and any free one for 0. It returns 0 for one that is used.
func free(t *testing.T, port int) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return 0
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
