// Package backup copies a store to a file and back: the commands backup and restore.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/serve"
	"github.com/weirhq/weir/internal/engine/backup"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/pebblestore"
)

// Commands returns the commands of this package.
func Commands() []command.Command {
	return []command.Command{backupCommand(), restoreCommand()}
}

const places = `FILE is a path, - for a stream, or s3://BUCKET/KEY. For S3, the key pair comes from AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY, ~/.aws/credentials or the role of the machine, the region from AWS_REGION, and another server
than Amazon's from AWS_ENDPOINT_URL.`

const backupLong = `Copies everything that lasts in a store to a file: bulk actions with their items and results, drafts, schedules,
actions, keys, audit.

A running server with the embedded store copies it itself while work goes on: name it with --server, and use a key with
the scope admin. The file has what was accepted before, as of one moment. Without --server the command reads the store
of the configuration, which no node may be using: stop a server with the embedded store, or all nodes on Redis.

` + places + `

Secrets in the file stay encrypted with the key of the vault, which is not in it: keep that key elsewhere.`

func backupCommand() command.Command {
	return command.Command{
		Use: "backup FILE", Short: "copy the store of a server to a file", Long: backupLong,
		Example: `  weir backup --server https://weir.example.com monday.backup
  weir backup --data /var/lib/weir s3://backups/weir/monday.backup
  weir backup --redis redis://10.0.0.5 -o json before-the-move.backup`,
		Args: command.Args(1, 1, "FILE"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o, at, format := &serve.Settings{}, &link.Server{}, command.Table
			format.BindTableOrJSON(fs)
			at.Bind(fs)
			o.BindStore(fs)
			return func(ctx context.Context, env *command.Env, args []string) error {
				ctx, cancel := env.UntilSignal(ctx)
				defer cancel()
				to, err := placeOf(env, args[0])
				if err != nil {
					return err
				}
				if at.URL != "" && o.Changed() {
					return command.BadUsage("keep --server for a running server, or the settings for a store that no node uses",
						"--server and settings of a store do not go together")
				}
				var sum backup.Summary
				if at.URL != "" || env.HasServer() && !o.Changed() {
					sum, err = fromServer(ctx, env, at, to)
				} else {
					sum, err = fromStore(ctx, env, o, to)
				}
				if err != nil {
					return failure(err, to)
				}
				return tell(env, format, "backup", to, sum)
			}
		},
	}
}

// fromServer has a running server copy its store. The copy is checked as it comes.
func fromServer(ctx context.Context, env *command.Env, at *link.Server, to place) (sum backup.Summary, err error) {
	l, err := at.Open(env)
	if err != nil {
		return sum, err
	}
	defer l.Close()
	from, err := l.Backup(ctx)
	if client.IsCode(err, "not_found") {
		return sum, command.BadUsage("update the server", "%s cannot be copied while it runs: it is of an older version", l.Server())
	}
	if err != nil {
		return sum, err
	}
	defer from.Close()
	err = to.create(ctx, func(w io.Writer) error {
		p := startProgress(env, "copied")
		defer p.end()
		sum, err = backup.Check(ctx, io.TeeReader(from, io.MultiWriter(w, p)))
		return err
	})
	return sum, err
}

// fromStore copies a store that no node uses.
func fromStore(ctx context.Context, env *command.Env, o *serve.Settings, to place) (sum backup.Summary, err error) {
	c, err := o.Load(env)
	if err != nil {
		return sum, err
	}
	s, err := openStore(ctx, env, c)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := backup.Unused(ctx, s); err != nil {
		return sum, err
	}
	err = to.create(ctx, func(w io.Writer) error {
		p := startProgress(env, "copied")
		defer p.end()
		sum, err = backup.Write(ctx, s, io.MultiWriter(w, p), command.Version())
		return cmp.Or(err, backup.Unused(ctx, s))
	})
	if err != nil {
		return sum, err
	}
	return sum, remindOfKey(ctx, env, c, s)
}

// logOf returns a logger that tells of what a store warns of.
func logOf(env *command.Env) *slog.Logger {
	return slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// openStore opens the store of the settings, which must be there.
func openStore(ctx context.Context, env *command.Env, c *config.Server) (backup.Target, error) {
	if len(c.Redis) > 0 {
		return serve.OpenRedis(ctx, c, logOf(env))
	}
	if !command.Exists(serve.StoreDir(c)) {
		return nil, command.BadUsage("name the data directory with --data, the configuration with --config, or a running server with --server",
			"%s: no store here", c.Data)
	}
	return serve.OpenEmbedded(c, pebblestore.Options{Logger: logOf(env)})
}

// remindOfKey says which key opens the secrets in the file.
func remindOfKey(ctx context.Context, env *command.Env, c *config.Server, s store.Registry) error {
	keys, _, err := vault.KnownKeys(ctx, s)
	if err != nil || len(keys) == 0 {
		return err
	}
	at := "vault_key_file"
	if serve.Drawn(c) {
		at = serve.VaultFile(c)
	}
	fmt.Fprintf(env.Stderr, "  Secrets in the backup are encrypted with the key in %s: keep a copy of it elsewhere.\n", at)
	return nil
}

// failure says what an error means for the user.
func failure(err error, at place) error {
	var used *backup.InUseError
	if f, ok := errors.AsType[*own.FormatError](err); ok {
		return command.BadUsage(f.Fix(), "%s: %s", at, f.What())
	}
	switch {
	case errors.As(err, &used):
		return command.BadUsage("stop them; a node that was killed counts for another 10 seconds. A server with the embedded store "+
			"can be copied while it runs: weir backup --server URL", "%v", err)
	case errors.Is(err, backup.ErrNotBackup):
		return command.BadUsage("check the name of the file", "%s: %v", at, err)
	case errors.Is(err, backup.ErrEmpty):
		return command.BadUsage("check --data, --redis and --stage", "nothing to copy: %v", err)
	case errors.Is(err, backup.ErrNotEmpty):
		return command.BadUsage("choose another --data directory, or another --stage on Redis", "%v", err)
	case errors.Is(err, store.ErrCorrupt):
		return command.Other(fmt.Errorf("%s: %w", at, err), "use another copy of the backup")
	}
	return err
}
