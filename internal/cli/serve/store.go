package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/pebblestore"
	"github.com/weirhq/weir/store/redisstore"
)

// openStore opens the store that the settings name.
func (s *serving) openStore(ctx context.Context, acceptLoss bool) (store.Store, error) {
	if len(s.conf.Redis) > 0 {
		return OpenRedis(ctx, s.conf, s.log)
	}
	st, err := OpenEmbedded(s.conf, pebblestore.Options{
		Mode: embeddedMode(s.conf), Logger: s.log, AcceptLoss: acceptLoss, MinFree: int64(s.conf.Limits.MinFree),
		OnFatal: func(err error) {
			select {
			case s.broken <- err:
			default: // the first tells enough
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return st, nil
}

// StoreDir returns where the embedded store of the settings is.
func StoreDir(c *config.Server) string { return filepath.Join(c.Data, "store") }

// RestoringFile returns the file that is in the data directory from before a restore makes a store there until it has
// ended: a store that was not begun yet looks like a new one.
func RestoringFile(c *config.Server) string { return filepath.Join(c.Data, "restoring") }

// OpenEmbedded opens the embedded store of the settings.
func OpenEmbedded(c *config.Server, o pebblestore.Options) (*pebblestore.Store, error) {
	if command.Exists(RestoringFile(c)) {
		return nil, command.BadUsage("run the same weir restore again, or choose another directory with --data",
			"%s holds part of a backup: the restore has not ended", c.Data)
	}
	return openEmbedded(c, o)
}

// OpenRestoring opens the embedded store of the settings for a restore. Until ended is called, after the store was closed,
// no other command opens it.
func OpenRestoring(c *config.Server, o pebblestore.Options) (st *pebblestore.Store, ended func() error, err error) {
	if !command.Exists(StoreDir(c)) {
		if err := mark(RestoringFile(c)); err != nil {
			return nil, nil, StoreFailed(c, err)
		}
	}
	st, err = openEmbedded(c, o)
	return st, func() error {
		if err := os.Remove(RestoringFile(c)); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}, err
}

// mark makes an empty file that survives a crash of the machine.
func mark(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func openEmbedded(c *config.Server, o pebblestore.Options) (*pebblestore.Store, error) {
	st, err := pebblestore.Open(StoreDir(c), o)
	if err != nil {
		return nil, StoreFailed(c, err)
	}
	return st, nil
}

func embeddedMode(c *config.Server) pebblestore.Mode {
	if c.Durability == config.DurableMemory {
		return pebblestore.Memory
	}
	return pebblestore.Disk
}

// StoreFailed says what a store that does not open means for the user.
func StoreFailed(c *config.Server, err error) error {
	const elsewhere = "choose another directory with --data"
	if f, ok := errors.AsType[*own.FormatError](err); ok {
		return command.BadUsage(f.Fix(), "%s", f.What())
	}
	switch {
	case errors.Is(err, local.ErrLocked):
		return command.BadUsage("stop that one, or "+elsewhere, "%s: another process is using this data directory", c.Data)
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return command.BadUsage("check who owns it, or "+elsewhere, "%s: this data directory cannot be written: %v", c.Data,
			Innermost(err))
	case errors.Is(err, store.ErrFull):
		return command.BadUsage("make room on the disk, or "+elsewhere, "%s: %v", c.Data, err)
	case errors.Is(err, store.ErrCorrupt):
		return command.BadUsage("put the directory back from a backup, or continue without the lost work with "+
			"--accept-loss", "%s: %v", c.Data, err)
	case errors.Is(err, store.ErrUnavailable):
		return command.Fail(command.ExitUnreachable, err.Error(), "check the address of Redis, and that the server is up")
	}
	return command.BadUsage("", "%s", err.Error())
}

// Innermost is the system's word for what went wrong.
func Innermost(err error) error {
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return n
	}
	return err
}

// OpenRedis connects to the shared store: one, or several unrelated servers.
func OpenRedis(ctx context.Context, c *config.Server, log *slog.Logger) (*redisstore.Spread, error) {
	all, err := SharedOptions(c)
	if err != nil {
		return nil, command.BadUsage("check redis_tls", "TLS to Redis: %v", err)
	}
	for i := range all {
		all[i].Logger = log
	}
	st, err := redisstore.OpenSpread(ctx, all...)
	if err != nil {
		return nil, redisFailed(err)
	}
	return st, nil
}

// SharedOptions are the settings of Redis for the store: one for each of several unrelated servers.
func SharedOptions(c *config.Server) (all []redisstore.Options, err error) {
	for _, r := range c.RedisServers() {
		o := redisstore.Options{
			Addresses: r.Addresses, Primary: r.Primary, Username: r.Username, Password: r.Password.Reveal(),
			SentinelUsername: c.RedisSentinelUser, SentinelPassword: c.RedisSentinelPassword.Reveal(), Stage: c.Stage,
			Replicas: c.RedisReplicas,
			Mode: map[config.Durability]redisstore.Mode{
				config.DurableDisk: redisstore.Disk, config.DurableMemory: redisstore.Memory, config.DurableReplicated: redisstore.Replicated,
			}[c.Durability],
		}
		if r.TLS {
			if o.TLS, err = clientTLS(c.RedisTLS); err != nil {
				return nil, err
			}
		}
		all = append(all, o)
	}
	return all, nil
}

// clientTLS returns the client certificate and the CA to trust.
func clientTLS(files config.ClientTLS) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if files.CA != "" {
		raw, err := os.ReadFile(files.CA)
		if err != nil {
			return nil, err
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(raw) {
			return nil, fmt.Errorf("%s holds no certificate", files.CA)
		}
	}
	if files.Cert != "" {
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			return nil, err
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

// refusals maps the errors with which Redis refuses a login to their meaning.
var refusals = []struct{ code, means string }{
	{"WRONGPASS", "the user name or the password is wrong"},
	{"NOAUTH", "it requires a password"},
	{"NOPERM", "the user lacks permissions that the store needs"},
	{"without any password configured", "no user has a password there, and one was sent"},
}

// redisFailed says what servers that cannot be used mean for the user.
func redisFailed(err error) error {
	text := strings.TrimPrefix(err.Error(), "redisstore: ")
	for _, r := range refusals {
		if strings.Contains(text, r.code) {
			return command.BadUsage("check the user in its URL and the password in redis_password_file",
				"Redis refused the login: %s", r.means)
		}
	}
	if errors.Is(err, store.ErrUnavailable) {
		return command.Fail(command.ExitUnreachable, "Redis cannot be reached: "+text, "check the address, and that the server is up")
	}
	return command.BadUsage("", "Redis is not usable: %s", text)
}
