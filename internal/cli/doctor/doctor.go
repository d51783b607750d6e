// Package doctor checks what a server needs: the configuration, the machine, the store, and a running server.
// It changes nothing.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/serve"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
)

const doctorLong = `Checks everything that weir serve needs, with the same flags, environment variables and file: the configuration, the
clock, open files, the addresses, the data directory and its disk, the store, and Redis. Each line says ok, warn or
fail, what was found, and what to do. Nothing is changed.

With --server it also checks the health of a running server.

Exit codes: 0 no check failed · 1 a check failed`

// Command returns weir doctor.
func Command() command.Command {
	return command.Command{
		Use: "doctor", Short: "check this machine, the configuration and the store", Long: doctorLong,
		Example: `  weir doctor
  weir doctor --config /etc/weir/weir.yaml -o json
  weir doctor --server https://weir.example.com`,
		Args: command.Args(0, 0, ""),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o, format := &serve.Settings{}, command.Table
			format.BindTableOrJSON(fs)
			address := fs.String("server", "", "`URL` of a running server to check as well (default $"+command.ServerVariable+")")
			o.Bind(fs)
			return func(ctx context.Context, env *command.Env, _ []string) error {
				ctx, cancel := env.UntilSignal(ctx)
				defer cancel()
				all := examine(ctx, env, o)
				if at := cmp.Or(*address, env.Getenv(command.ServerVariable)); at != "" {
					all = append(all, askServer(ctx, env, at)...)
				}
				if err := printFindings(env, format, all); err != nil {
					return err
				}
				return command.Ended(worst(all))
			}
		},
	}
}

// level is the severity of a finding.
type level string

const (
	fine level = "ok"
	warn level = "warn"
	fail level = "fail"
)

// finding is the result of one check of the doctor.
type finding struct {
	Level level  `json:"level"`
	Name  string `json:"name"`
	What  string `json:"what"`
	Fix   string `json:"fix,omitempty"`
}

// found notes something that is as it should be.
func found(name, format string, args ...any) finding {
	return finding{fine, name, fmt.Sprintf(format, args...), ""}
}

// trouble notes something else, and what to do about it.
func trouble(l level, name, fix, format string, args ...any) finding {
	return finding{l, name, fmt.Sprintf(format, args...), fix}
}

// examine makes all checks that need no server.
func examine(ctx context.Context, env *command.Env, o *serve.Settings) []finding {
	all := []finding{clockCheck(), filesCheck()}
	c, err := o.Read(env)
	all = append(all, configCheck(o.Path(env), c, err)...)
	if err != nil {
		return append(all, trouble(warn, "rest", "correct the configuration first", "addresses, directory and store were not checked"))
	}
	all = append(all, addressCheck(ctx, "listen", c.Listen, "--listen"))
	if c.AdminListen != c.Listen {
		all = append(all, addressCheck(ctx, "admin_listen", c.AdminListen, "--admin-listen"))
	}
	if c.TLS.Cert != "" {
		all = append(all, certificateCheck(c))
	}
	all = append(all, directoryChecks(c)...)
	if len(c.Redis) > 0 {
		return append(all, redisCheck(ctx, c)...)
	}
	return append(all, embeddedCheck(ctx, c))
}

func configCheck(path string, c *config.Server, err error) (all []finding) {
	if e, ok := err.(*config.Errors); ok { //nolint:errorlint // Load returns no other
		for _, one := range e.List {
			all = append(all, trouble(fail, "config", one.Fix, "%s", one.What()))
		}
		return all
	}
	set := 0
	for _, v := range c.Values() {
		if v.Origin != "default" {
			set++
		}
	}
	all = append(all, found("config", "%s, %s", cmp.Or(path, "no file"), term.Plural(int64(set), "value set", "values set")))
	return append(all, vaultCheck(c))
}

func vaultCheck(c *config.Server) finding {
	const name = "vault key"
	switch {
	case !c.VaultKey.IsZero():
		return found(name, "secrets in the store are encrypted with the given key")
	case len(c.Redis) > 0:
		return trouble(warn, name, "generate one with openssl rand -base64 32, and give all servers the file as vault_key_file",
			"no key is set, so a shared store cannot keep secrets")
	}
	return found(name, "%s, generated at the first start", filepath.Join(c.Data, vault.FileName))
}

// doctorVault is why the vault cannot open what is sealed in an embedded store. It draws no key.
func doctorVault(ctx context.Context, c *config.Server, s store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	known, _, err := vault.KnownKeys(ctx, s)
	if err != nil || len(known) == 0 {
		return err
	}
	file := filepath.Join(c.Data, vault.FileName)
	if serve.Drawn(c) && !command.Exists(file) {
		return serve.KeyGone(file, known[0], nil)
	}
	v, err := c.OpenVault(ctx)
	if err != nil {
		return command.BadUsage("name a file with a key of 32 bytes in vault_key_file", "vault: %v", err)
	}
	return serve.CheckKeys(ctx, s, v, known, file)
}

// worst is the exit code.
func worst(all []finding) int {
	for _, f := range all {
		if f.Level == fail {
			return command.ExitOther
		}
	}
	return command.ExitOK
}

func printFindings(env *command.Env, format command.Format, all []finding) error {
	if format == command.JSON {
		return command.PrintJSON(env, struct {
			OK     bool      `json:"ok"`
			Checks []finding `json:"checks"`
		}{worst(all) == command.ExitOK, all})
	}
	p, _ := command.Outward(env)
	colour := map[level]func(string) string{fine: p.Green, warn: p.Yellow, fail: p.Red}
	for _, f := range all {
		fmt.Fprintf(env.Stdout, "%s  %s  %s\n", colour[f.Level](term.Pad(string(f.Level), 4)), term.Pad(f.Name, 12), f.What)
		if f.Fix != "" {
			fmt.Fprintf(env.Stdout, "%s%s %s\n", strings.Repeat(" ", 20), p.Bold("fix:"), f.Fix)
		}
	}
	return nil
}
