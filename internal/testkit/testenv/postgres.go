package testenv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// PostgresServer is a PostgreSQL cluster of its own, with one superuser and one database.
type PostgresServer struct {
	process // without TLS
	// User, Password and Database are the credentials.
	User, Password, Database string
}

// Postgres starts a server with an empty database. It forgets what a crash of the machine would
// take, which makes it fast; a crash of the server alone loses nothing.
func Postgres(t testing.TB) *PostgresServer {
	t.Helper()
	s := &PostgresServer{User: "weir", Password: "quiet-river", Database: "postgres"}
	// SIGQUIT has it end at once; the next start recovers as after a crash.
	s.process = process{t: t, dir: postgresDir(t), ending: syscall.SIGQUIT, ping: func() error { return s.try("SELECT 1") }}
	data := filepath.Join(s.dir, "data")
	s.initialise(data)
	s.start(func(port string) {
		s.command = func() *exec.Cmd {
			return s.program("postgres", "-D", data, "-p", port, "-c", "listen_addresses="+host, "-c",
				"unix_socket_directories=", "-c", "fsync=off",
				"-c", "shared_buffers=16MB", "-c", "max_connections=20", "-c", "autovacuum=off", "-c", "max_wal_senders=0")
		}
	})
	return s
}

// initialise makes an empty cluster.
func (s *PostgresServer) initialise(data string) {
	s.t.Helper()
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(s.Password),
		0o644); err != nil { //nolint:gosec // another user has to read it, and it guards nothing
		s.t.Fatal(err)
	}
	cmd := s.program("initdb", "-D", data, "-U", s.User, "--pwfile", secret, "--auth=scram-sha-256", "-E", "UTF8",
		"--locale=C.UTF-8", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("initdb: %v (make deps installs PostgreSQL)\n%s", err, out)
	}
}

// postgresDir returns a directory that the server's user can reach, unlike the test's own.
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

// program returns the command that runs one of the programs of PostgreSQL.
func (s *PostgresServer) program(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(lasting(s.t), postgresProgram(name), args...)
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

// Exec runs statements, or fails the test.
func (s *PostgresServer) Exec(sql string) {
	s.t.Helper()
	if err := s.try(sql); err != nil {
		s.t.Fatalf("%s: %v", bytes.TrimSpace([]byte(sql)[:min(len(sql), 200)]), err)
	}
}

func (s *PostgresServer) try(sql string) error {
	ctx, cancel := context.WithTimeout(lasting(s.t), upIn)
	defer cancel()
	conn, err := pgconn.Connect(ctx, fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", s.User, s.Password, s.Addr, s.Database))
	if err != nil {
		return err
	}
	return errors.Join(conn.Exec(ctx, sql).Close(), conn.Close(ctx))
}
