package testenv

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/redis/rueidis"
)

// Server is one process of redis-server.
type Server struct {
	process
	bus string // port of the Cluster bus
}

// Redis starts a server that syncs its log every second, as most do. conf is added to its
// settings, as in "appendfsync", "always".
func Redis(t testing.TB, conf ...string) *Server {
	t.Helper()
	return start(t, t.TempDir(), append([]string{"save", "", "appendonly", "yes", "appendfsync", "everysec"}, conf...))
}

// newServer returns a server that is not started yet; args are those of its program.
func newServer(t testing.TB, dir string, args func() []string) *Server {
	s := &Server{process: process{t: t, dir: dir, ending: syscall.SIGKILL}}
	s.ping = func() error {
		_, err := s.Try("PING") // fails while it loads its data
		return err
	}
	s.command = func() *exec.Cmd {
		// redis-server, or the program in WEIR_REDIS_SERVER, such as a Valkey
		cmd := exec.CommandContext(lasting(t), cmp.Or(os.Getenv("WEIR_REDIS_SERVER"), "redis-server"), args()...)
		endWithParent(cmd)
		return cmd
	}
	return s
}

// start starts a server on a free port. conf is pairs of a name and a value.
func start(t testing.TB, dir string, conf []string) *Server {
	t.Helper()
	var args []string
	s := newServer(t, dir, func() []string { return args })
	s.start(func(port string) {
		args = []string{"--port", port, "--bind", host, "--dir", dir, "--daemonize", "no"}
		for i := 0; i < len(conf); i += 2 {
			args = append(args, "--"+conf[i], conf[i+1])
			if conf[i] == "cluster-enabled" {
				s.bus = freePort(t)
				args = append(args, "--cluster-port", s.bus)
			}
		}
	})
	return s
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
	ctx, cancel := context.WithTimeout(lasting(s.t), 10*answerIn)
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
