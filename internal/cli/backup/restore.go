package backup

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/serve"
	"github.com/weirhq/weir/internal/engine/backup"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/pebblestore"
)

const restoreLong = `Writes a backup to the store of the configuration, which must be empty. It may be of another kind than the one that was
copied: a backup of the embedded store can be restored into Redis, and the other way round. Start the server afterwards.

A file, and an object in S3, are read and checked as a whole before anything is written. A store that holds part of a
backup is not opened by a server: run the same command again until it has ended.

What was accepted after the backup is not in it, and items that ran since run again, with the same idempotency keys.
Reports of bulk actions that had not ended say so. Say --moved if nothing was done since: the old store was stopped
before the backup was made, and will not be used again.

` + places

func restoreCommand() command.Command {
	return command.Command{
		Use: "restore FILE", Short: "write a backup to an empty store", Long: restoreLong,
		Example: `  weir restore --data /var/lib/weir s3://backups/weir/monday.backup
  weir restore --redis redis://10.0.0.5 --moved before-the-move.backup
  weir restore --check monday.backup`,
		Args: command.Args(1, 1, "FILE"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o, format := &serve.Settings{}, command.Table
			format.BindTableOrJSON(fs)
			moved := fs.Bool("moved", false, "the old store did nothing after the backup, and will not be used again")
			check := fs.Bool("check", false, "only check the file, as a whole")
			o.BindStore(fs)
			return func(ctx context.Context, env *command.Env, args []string) error {
				ctx, cancel := env.UntilSignal(ctx)
				defer cancel()
				from, err := placeOf(env, args[0])
				if err != nil {
					return err
				}
				verb := "restored"
				var sum backup.Summary
				if *check {
					verb = "checked"
					sum, err = checkFile(ctx, env, from)
				} else {
					sum, err = intoStore(ctx, env, o, from, backup.Options{Moved: *moved})
				}
				if err != nil {
					return failure(err, from)
				}
				return tell(env, format, verb, from, sum)
			}
		},
	}
}

// checkFile reads a file to its end.
func checkFile(ctx context.Context, env *command.Env, from place) (sum backup.Summary, err error) {
	err = from.open(ctx, func(r io.Reader) error {
		p := startProgress(env, "checked")
		defer p.end()
		sum, err = backup.Check(ctx, io.TeeReader(r, p))
		return err
	})
	return sum, err
}

// openTarget opens the store that a backup is written to. After ended, other commands open it.
func openTarget(ctx context.Context, env *command.Env, c *config.Server) (s backup.Target, ended func() error, err error) {
	if len(c.Redis) > 0 {
		s, err = serve.OpenRedis(ctx, c, logOf(env))
		return s, func() error { return nil }, err
	}
	return serve.OpenRestoring(c, pebblestore.Options{Mode: pebblestore.Memory, Logger: logOf(env)})
}

// intoStore writes a file to the store of the settings.
func intoStore(ctx context.Context, env *command.Env, o *serve.Settings, from place, opts backup.Options) (sum backup.Summary, err error) {
	c, err := o.Load(env)
	if err != nil {
		return sum, err
	}
	if from.again() {
		if _, err := checkFile(ctx, env, from); err != nil {
			return sum, err
		}
	}
	// The store is marked until all is written, and Close waits for the disk: single writes need not.
	s, ended, err := openTarget(ctx, env, c)
	if err != nil {
		return sum, err
	}
	defer func() {
		if err = errors.Join(err, s.Close()); err == nil {
			err = ended()
		}
	}()
	err = from.open(ctx, func(r io.Reader) error {
		p := startProgress(env, "restored")
		defer p.end()
		sum, err = backup.Restore(ctx, s, io.TeeReader(r, p), opts)
		return err
	})
	if err != nil {
		return sum, err
	}
	if keys, _, err := vault.KnownKeys(ctx, s); err != nil || len(keys) == 0 || !serve.Drawn(c) || command.Exists(serve.VaultFile(c)) {
		return sum, err
	}
	fmt.Fprintf(env.Stderr, "  Put the key of the vault back as %s before the server starts: secrets are encrypted with it.\n", serve.VaultFile(c))
	return sum, nil
}
