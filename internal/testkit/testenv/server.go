package testenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// Server is one process of redis-server.
type Server struct {
	// Addr is its address, as host:port. It stays the same over a restart.
	Addr string

	t    testing.TB
	dir  string
	args []string
	proc *os.Process
	gone chan struct{} // closed when the process has ended
}

const (
	host      = "127.0.0.1"
	upIn      = 20 * time.Second       // until a server that does not answer is a failure
	lookEvery = 5 * time.Millisecond   // while it comes up
	portTries = 5                      // a free port may be taken before the server has it
	answerIn  = 500 * time.Millisecond // of a server that is there
)

// Redis starts a server that logs every second, as most do. conf is added to its
// settings, as in "appendfsync", "always".
func Redis(t testing.TB, conf ...string) *Server {
	t.Helper()
	return start(t, t.TempDir(), append([]string{"save", "", "appendonly", "yes", "appendfsync", "everysec"}, conf...))
}

// program returns the program to start: redis-server, or that in WEIR_REDIS_SERVER, such as a
// Valkey.
func program() string { return cmp.Or(os.Getenv("WEIR_REDIS_SERVER"), "redis-server") }

// start starts a server on a free port. conf is pairs of a name and a value.
func start(t testing.TB, dir string, conf []string) *Server {
	t.Helper()
	for range portTries {
		port, bus := freePort(t), freePort(t)
		args := []string{"--port", port, "--bind", host, "--dir", dir, "--daemonize", "no", "--logfile", filepath.Join(dir, "log")}
		for i := 0; i < len(conf); i += 2 {
			args = append(args, "--"+conf[i], conf[i+1])
			if conf[i] == "cluster-enabled" {
				args = append(args, "--cluster-port", bus)
			}
		}
		s := &Server{Addr: net.JoinHostPort(host, port), t: t, dir: dir, args: args}
		if s.launch() {
			t.Cleanup(s.Kill)
			return s
		}
	}
	t.Fatalf("redis-server does not start; its log: %s", tail(dir))
	return nil
}

// launch runs the process and waits until it answers, or reports that it has ended.
func (s *Server) launch() bool {
	s.t.Helper()
	started, gone := make(chan error), make(chan struct{})
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), program(), s.args...) // cleaned up later than the context ends
	go func() {
		defer close(gone)
		// The system ends the server together with the thread that started it, so the thread stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		endWithParent(cmd)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is killed
		}
	}()
	if err := <-started; err != nil {
		s.t.Fatalf("%s does not start: %v (make deps installs redis-server)", program(), err)
	}
	s.proc, s.gone = cmd.Process, gone
	return s.up()
}

// up waits until the server answers and has loaded its data.
func (s *Server) up() bool {
	s.t.Helper()
	deadline := time.Now().Add(upIn)
	for time.Now().Before(deadline) {
		if _, err := s.Try("PING"); err == nil {
			return true
		}
		select {
		case <-s.gone:
			return false
		case <-time.After(lookEvery):
		}
	}
	s.t.Fatalf("redis-server at %s does not answer; its log: %s", s.Addr, tail(s.dir))
	return false
}

// Kill ends the server as kill -9 does, and waits until it is gone. One that is gone stays so.
func (s *Server) Kill() {
	if err := s.proc.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Errorf("kill %s: %v", s.Addr, err)
	}
	<-s.gone
}

// Restart starts a server that was killed, with the data that it left.
func (s *Server) Restart() {
	s.t.Helper()
	for range portTries { // another process may have its port for a moment
		if s.launch() {
			return
		}
		<-time.After(answerIn)
	}
	s.t.Fatalf("redis-server at %s does not come back; its log: %s", s.Addr, tail(s.dir))
}

// Freeze stops the process where it is; its connections stay open. Thaw lets it go on.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.proc.Signal(sig); err != nil {
		s.t.Fatalf("signal %v to %s: %v", sig, s.Addr, err)
	}
}

// Do sends one command and returns its answer as text, or fails the test.
func (s *Server) Do(command ...string) string {
	s.t.Helper()
	answer, err := s.Try(command...)
	if err != nil {
		s.t.Fatalf("%v at %s: %v", command, s.Addr, err)
	}
	return answer
}

// Try sends one command over a connection of its own and returns its answer as text.
func (s *Server) Try(command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), 10*answerIn)
	defer cancel()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Addr}, ForceSingleClient: true, DisableCache: true, DisableRetry: true, AlwaysRESP2: true,
		Dialer: net.Dialer{Timeout: 4 * answerIn},
	})
	if err != nil {
		return "", err
	}
	defer c.Close()
	m, err := c.Do(ctx, c.B().Arbitrary(command...).Build()).ToMessage()
	if err != nil {
		return "", err
	}
	if n, err := m.AsInt64(); err == nil {
		return strconv.FormatInt(n, 10), nil
	}
	if text, err := m.ToString(); err == nil {
		return text, nil
	}
	list, err := m.AsStrSlice()
	return fmt.Sprint(list), err
}

// freePort returns a port without a listener.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// tail returns the end of a server's log.
func tail(dir string) string {
	raw, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-2000):])
}
