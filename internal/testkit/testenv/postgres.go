package testenv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// PostgresServer is a PostgreSQL cluster of its own, with one superuser and one database.
type PostgresServer struct {
	// Addr is its address, as host:port, without TLS. It stays the same over a restart.
	Addr string
	// User, Password and Database are the credentials.
	User, Password, Database string

	t    testing.TB
	dir  string // of the log; the data is below it
	args []string
	proc *os.Process
	gone chan struct{} // closed when the process has ended
}

// Postgres starts a server with an empty database. It forgets what a crash of the machine would
// take, which makes it fast; a crash of the server alone loses nothing.
func Postgres(t testing.TB) *PostgresServer {
	t.Helper()
	s := &PostgresServer{User: "weir", Password: "quiet-river", Database: "postgres", t: t, dir: postgresDir(t)}
	data := filepath.Join(s.dir, "data")
	s.initialise(data)
	for range portTries {
		port := freePort(t)
		s.Addr = net.JoinHostPort(host, port)
		s.args = []string{
			"-D", data, "-p", port, "-c", "listen_addresses=" + host, "-c", "unix_socket_directories=", "-c", "fsync=off",
			"-c", "shared_buffers=16MB", "-c", "max_connections=20", "-c", "autovacuum=off", "-c", "max_wal_senders=0",
		}
		if s.launch() {
			t.Cleanup(s.Kill)
			return s
		}
	}
	t.Fatalf("postgres does not start; its log: %s", tail(s.dir))
	return nil
}

// initialise makes an empty cluster.
func (s *PostgresServer) initialise(data string) {
	s.t.Helper()
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(s.Password),
		0o644); err != nil { //nolint:gosec // another user has to read it, and it guards nothing
		s.t.Fatal(err)
	}
	cmd := s.command("initdb", "-D", data, "-U", s.User, "--pwfile", secret, "--auth=scram-sha-256", "-E", "UTF8",
		"--locale=C.UTF-8", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("initdb: %v (make deps installs PostgreSQL)\n%s", err, out)
	}
}

// postgresDir is a directory that the server's user can reach, unlike the test's own.
func postgresDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "weir-postgres-") //nolint:usetesting // the test's directory is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if as := postgresUser(t); as != nil {
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// postgresUser returns the user to run the server as, since it refuses to run as root; nil is
// the user of the test.
func postgresUser(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32) // numbers on every Unix
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	t.Fatal("PostgreSQL does not run as root, and there is no user postgres or nobody")
	return nil
}

// postgresProgram finds a program in the directory that WEIR_POSTGRES_BIN names, else in
// the PATH, else where Debian has them, the newest version first.
func postgresProgram(name string) string {
	if dir := os.Getenv("WEIR_POSTGRES_BIN"); dir != "" {
		return filepath.Join(dir, name)
	}
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob(filepath.Join("/usr/lib/postgresql/*/bin", name)) // a fixed pattern
	slices.SortFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(b, a))
	})
	return append(found, name)[0]
}

func (s *PostgresServer) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), postgresProgram(name), args...) // cleaned up later than the context ends
	cmd.Dir = s.dir
	endWithParent(cmd)
	if as := postgresUser(s.t); as != nil {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Credential = as
	}
	return cmd
}

// launch runs the server and waits until it answers, or reports that it has ended.
func (s *PostgresServer) launch() bool {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := s.command("postgres", s.args...)
	cmd.Stdout, cmd.Stderr = log, log
	started, gone := make(chan error), make(chan struct{})
	go func() {
		defer close(gone)
		defer log.Close()
		// The system ends the server together with the thread that started it, so the thread stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is killed
		}
	}()
	if err := <-started; err != nil {
		s.t.Fatalf("postgres does not start: %v (make deps installs PostgreSQL)", err)
	}
	s.proc, s.gone = cmd.Process, gone
	return s.up()
}

func (s *PostgresServer) up() bool {
	s.t.Helper()
	for deadline := time.Now().Add(upIn); time.Now().Before(deadline); {
		if err := s.try("SELECT 1"); err == nil {
			return true
		}
		select {
		case <-s.gone:
			return false
		case <-time.After(lookEvery):
		}
	}
	s.t.Fatalf("postgres at %s does not answer; its log: %s", s.Addr, tail(s.dir))
	return false
}

// Kill ends the server at once, without a farewell to its clients, and waits until it is gone. The next start recovers
// as after a crash.
func (s *PostgresServer) Kill() {
	if err := s.proc.Signal(syscall.SIGQUIT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Errorf("kill %s: %v", s.Addr, err)
	}
	<-s.gone
}

// Restart starts a server that was killed, with the data that it left.
func (s *PostgresServer) Restart() {
	s.t.Helper()
	for range portTries { // another process may have its port for a moment
		if s.launch() {
			return
		}
		<-time.After(answerIn)
	}
	s.t.Fatalf("postgres at %s does not come back; its log: %s", s.Addr, tail(s.dir))
}

// Exec runs statements, or fails the test.
func (s *PostgresServer) Exec(sql string) {
	s.t.Helper()
	if err := s.try(sql); err != nil {
		s.t.Fatalf("%s: %v", bytes.TrimSpace([]byte(sql)[:min(len(sql), 200)]), err)
	}
}

func (s *PostgresServer) try(sql string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), upIn)
	defer cancel()
	conn, err := pgconn.Connect(ctx, fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", s.User, s.Password, s.Addr, s.Database))
	if err != nil {
		return err
	}
	return errors.Join(conn.Exec(ctx, sql).Close(), conn.Close(ctx))
}
