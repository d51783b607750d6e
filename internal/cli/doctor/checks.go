package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/serve"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/pebblestore"
	"github.com/weirhq/weir/store/redisstore"
)

// askFor limits how long the doctor waits for an answer.
const askFor = 5 * time.Second

// oldest is a time that has passed since: a clock before it was never set.
var oldest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func clockCheck() finding {
	const fix = "synchronise it with chrony, ntpd or systemd-timesyncd; schedules depend on it"
	now := time.Now()
	synced, known := clockSynced()
	switch {
	case now.Before(oldest):
		return trouble(fail, "clock", fix, "it says %s", now.Format(time.RFC3339))
	case known && !synced:
		return trouble(warn, "clock", fix, "not synchronised")
	case !known:
		return found("clock", "%s; cannot tell whether it is synchronised", now.UTC().Format(time.RFC3339))
	}
	return found("clock", "%s, synchronised", now.UTC().Format(time.RFC3339))
}

// fewFiles is below what a server with some thousand clients needs.
const fewFiles = 4096

func filesCheck() finding {
	most, known := openFiles()
	switch {
	case !known:
		return found("open files", "no limit is known")
	case most < fewFiles:
		return trouble(warn, "open files", "raise it, as by ulimit -n 65536 or LimitNOFILE=65536",
			"at most %d: each client and each call takes one", most)
	}
	return found("open files", "at most %d", most)
}

// addressCheck tries to listen. A weir server that listens there is not an error.
func addressCheck(ctx context.Context, name string, a config.Address, flag string) finding {
	var conf net.ListenConfig
	l, err := conf.Listen(ctx, "tcp", string(a))
	if err == nil {
		if err := l.Close(); err != nil {
			return trouble(warn, name, "", "%s: %v", a, err)
		}
		return found(name, "%s is free", a)
	}
	if errors.Is(err, serve.ErrAddressInUse) {
		return trouble(warn, name, "if that is not your server, stop it or choose another address with "+flag,
			"%s: another process listens there", a)
	}
	return trouble(fail, name, "choose an address of this machine, and a port from 1024 on, with "+flag, "%s: %v", a,
		serve.Innermost(err))
}

// soon is the minimum remaining validity of a certificate.
const soon = 14 * 24 * time.Hour

func certificateCheck(c *config.Server) finding {
	const name = "certificate"
	pair, err := tls.LoadX509KeyPair(c.TLS.Cert, c.TLS.Key)
	if err != nil {
		return trouble(fail, name, "check tls.cert and tls.key", "%v", err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return trouble(fail, name, "check tls.cert", "%v", err)
	}
	until := leaf.NotAfter.UTC().Format(time.DateOnly)
	switch left := time.Until(leaf.NotAfter); {
	case left < 0:
		return trouble(fail, name, "replace the files; the server reloads them", "expired on %s", until)
	case left < soon:
		return trouble(warn, name, "replace the files; the server reloads them", "expires on %s", until)
	}
	return found(name, "for %s, until %s", strings.Join(leaf.DNSNames, ", "), until)
}

// directoryChecks looks at the data directory and the disk that it is on.
func directoryChecks(c *config.Server) []finding {
	dir, there := c.Data, true
	for !command.Exists(dir) && filepath.Dir(dir) != dir {
		dir, there = filepath.Dir(dir), false
	}
	all := []finding{writableCheck(c.Data, dir, there)}
	if free, total, known := diskSpace(dir); known {
		all = append(all, spaceCheck(free, total, uint64(c.Limits.MinFree)))
	}
	return all
}

func writableCheck(data, dir string, there bool) finding {
	const name, fix = "directory", "check who owns it, or choose another one with --data"
	st, err := os.Stat(dir)
	if err == nil && !st.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		err = command.Probe(dir)
	}
	switch {
	case err != nil:
		return trouble(fail, name, fix, "%s: cannot be written: %v", data, serve.Innermost(err))
	case !there:
		return found(name, "%s does not exist yet and can be created", data)
	case runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0:
		return trouble(warn, name, "chmod 700 "+term.Quote(data), "%s: other users can read it (%v)", data, st.Mode().Perm())
	}
	return found(name, "%s is writable by this user only", data)
}

// spaceCheck goes by what the store wants: see pebblestore.Options.MinFree.
func spaceCheck(free, total, minFree uint64) finding {
	const fix = "make room, or lower limits.min_free"
	want := cmp.Or(minFree, min(total/10, 2<<30))
	switch {
	case free < want/2:
		return trouble(fail, "disk", fix, "%d MiB free, and work stops below %d MiB", free>>20, want/2>>20)
	case free < want:
		return trouble(warn, "disk", fix, "%d MiB free, and no new work is taken below %d MiB", free>>20, want>>20)
	}
	return found("disk", "%d GiB of %d GiB free", free>>30, total>>30)
}

// embeddedCheck opens the store if there is one, which finds damage, and closes it again.
func embeddedCheck(ctx context.Context, c *config.Server) finding {
	const name = "store"
	dir := filepath.Join(c.Data, "store")
	if !command.Exists(dir) {
		return found(name, "embedded, and new")
	}
	broken := make(chan error, 1)
	s, err := pebblestore.Open(dir, pebblestore.Options{
		Logger: slog.New(slog.DiscardHandler), MinFree: -1, Ballast: -1,
		OnFatal: func(err error) {
			select {
			case broken <- err:
			default: // the first tells enough
			}
		},
	})
	if errors.Is(err, local.ErrLocked) {
		return trouble(warn, name, "if that is not your server, stop it or choose another directory with --data",
			"another process is using this data directory")
	}
	if err != nil {
		f, _ := errors.AsType[*command.Failure](serve.StoreFailed(c, err))
		return trouble(fail, name, f.Fix, "%s", f.What)
	}
	if gone := doctorVault(ctx, c, s); gone != nil {
		f, _ := errors.AsType[*command.Failure](errors.Join(gone, s.Close()))
		return trouble(fail, name, f.Fix, "%s", f.What)
	}
	format := formatCheck(ctx, name, s)
	err = errors.Join(s.Health(), s.Close())
	select {
	case err = <-broken:
	default: // it is not
	}
	if err != nil {
		return trouble(fail, name, "look at the disk", "%v", err)
	}
	if format.Level != fine {
		return format
	}
	return found(name, "embedded, intact, %s", format.What)
}

// formatCheck compares the format of what is stored with that of this version.
func formatCheck(ctx context.Context, name string, s store.Registry) finding {
	m, err := own.ReadMap(ctx, s)
	if f, ok := errors.AsType[*own.FormatError](err); ok {
		level := fail
		if f.CanMigrate() {
			level = warn
		}
		return trouble(level, name, f.Fix(), "%s", f.What())
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return found(name, "no node has used the store yet")
	case err != nil:
		return trouble(fail, name, "look at the store", "%v", err)
	}
	return found(name, "of format %d", m.Format)
}

// redisCheck connects as the server would, and if that fails as one that asks for less.
func redisCheck(ctx context.Context, c *config.Server) []finding {
	const name = "redis"
	ctx, cancel := context.WithTimeout(ctx, 2*askFor)
	defer cancel()
	quiet := slog.New(slog.DiscardHandler)
	s, err := serve.OpenRedis(ctx, c, quiet)
	if err == nil {
		all := append([]finding{redisHealth(ctx, c, s)}, fleetCheck(ctx, s)...)
		if err := s.Close(); err != nil {
			all = append(all, trouble(warn, name, "", "%v", err))
		}
		return all
	}
	f, _ := errors.AsType[*command.Failure](err)
	all, bad := serve.SharedOptions(c)
	if bad == nil && all[0].Mode != redisstore.Memory {
		for i := range all {
			all[i].Mode, all[i].Replicas, all[i].Logger = redisstore.Memory, 0, quiet
		}
		if less, err := redisstore.OpenSpread(ctx, all...); err == nil {
			_ = less.Close() // never fails
			return []finding{trouble(fail, name, "change the settings of Redis, or use durability memory", "%s", f.What)}
		}
	}
	return []finding{trouble(fail, name, f.Fix, "%s", f.What)}
}

// redisHealth tells whether the servers give what was asked for.
func redisHealth(ctx context.Context, c *config.Server, s *redisstore.Spread) finding {
	const name = "redis"
	if err := s.Probe(ctx, 0); err != nil {
		return trouble(fail, name, "correct the servers: until then work is not accepted, or can be lost", "%v", err)
	}
	if got := s.Durability(); got != string(c.Durability) {
		return trouble(warn, name, "use durability replicated, or a server without replicas",
			"durability is set to %s, but the servers provide %s: %s",
			c.Durability, got, "a promoted replica may lack acknowledged writes")
	}
	return found(name, "%s responds, does not evict keys, and provides durability %s",
		strings.Join(c.RedisAddresses(), ", "), s.Durability())
}

// fleetCheck tells which partitions are stopped, as the nodes have noted in the store.
func fleetCheck(ctx context.Context, s store.Store) (all []finding) {
	const name = "partitions"
	if f := formatCheck(ctx, "store", s); f.Level != fine {
		return []finding{f}
	}
	losses, err := engine.NewOperator(s).Losses(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return []finding{found(name, "no node has used the store yet")}
	case err != nil:
		return []finding{trouble(fail, name, "look at the store", "%v", err)}
	}
	for _, l := range losses {
		what := fmt.Sprintf("partition %d lost accepted work (commits %d to %d), found %s", l.Partition, l.Have+1, l.Acked,
			l.Found.Format(time.RFC3339))
		if l.Accepted.IsZero() {
			all = append(all,
				trouble(fail, name,
					"restore the store from a copy that has them, or start a node with --accept-loss to continue without it",
					"%s: it is stopped", what))
			continue
		}
		all = append(all, trouble(warn, name, "the affected reports say so; no action is needed", "%s, accepted %s", what,
			l.Accepted.Format(time.RFC3339)))
	}
	if len(all) == 0 {
		all = append(all, found(name, "none is stopped"))
	}
	return all
}
