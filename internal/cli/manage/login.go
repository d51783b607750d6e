package manage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
)

func loginCommand() command.Command {
	return command.Command{
		Use: "login [URL]", Short: "save a server and its API key as the default",
		Long: `Reads an API key from WEIR_API_KEY_FILE, WEIR_API_KEY, the first line of stdin, or the keyboard, and checks it at the
server. Then it saves the server and the key in a file that only you can read; other commands use them by default. The
key is never an argument. A server that requires no key is saved without one.`,
		Example: `  weir login https://weir.example.com
  weir login https://weir.example.com < key.txt
  weir login --forget`,
		Args: command.Args(0, 1, "URL"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			forget := fs.Bool("forget", false, "delete all saved servers and keys")
			return func(ctx context.Context, env *command.Env, args []string) error {
				if *forget {
					return forgetLogins(env)
				}
				ctx, cancel := env.UntilSignal(ctx)
				defer cancel()
				return login(ctx, env, args)
			}
		},
	}
}

func forgetLogins(env *command.Env) error {
	path := command.LoginFile(env)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) && path != "" {
		return command.Other(err, "")
	}
	env.Screen().Print("  all saved servers and keys are deleted; the keys stay valid until they are revoked")
	return nil
}

func login(ctx context.Context, env *command.Env, args []string) error {
	kept, err := command.ReadLogins(env)
	if err != nil {
		return err
	}
	at := kept.Default
	if s := env.Getenv(command.ServerVariable); s != "" {
		at = s
	}
	if len(args) == 1 {
		at = args[0]
	}
	if at == "" {
		return command.BadUsage("usage: "+env.Program+" login URL", "the server is missing")
	}
	key, err := askKey(ctx, env, at)
	if err != nil {
		return err
	}
	who, err := whoAmI(ctx, at, key)
	if key == "" && client.IsCode(err, "no_credentials") {
		return command.BadUsage("pipe it in, or set "+command.KeyFileVariable, "the key is missing")
	}
	if err != nil {
		return err
	}
	if kept.Keys == nil {
		kept.Keys = map[string]string{}
	}
	kept.Default = command.Trimmed(at)
	delete(kept.Keys, command.Trimmed(at))
	if key != "" {
		kept.Keys[command.Trimmed(at)] = key
	}
	path, err := kept.Write(env)
	if err != nil {
		return err
	}
	if key == "" {
		env.Screen().Print(fmt.Sprintf("  %s requires no key; it is saved in %s, and commands use it by default",
			command.Trimmed(at), path))
		return nil
	}
	env.Screen().Print(fmt.Sprintf("  logged in to %s as %s (%s); saved in %s", command.Trimmed(at), who.Name,
		strings.Join(who.Scopes, ", "), path))
	return nil
}

// whoAmI asks the server at an address whom it takes the owner of a key for; an empty key is none.
func whoAmI(ctx context.Context, at, key string) (api.Whoami, error) {
	c, err := client.New(client.Options{Server: at, Key: key})
	if err != nil {
		return api.Whoami{}, command.BadUsage("write it as in https://weir.example.com", "%s",
			strings.TrimPrefix(err.Error(), "client: "))
	}
	defer c.Close()
	return c.WhoAmI(ctx)
}

// askKey reads the key from a place that other users cannot see; empty if none was given. It asks at the
// keyboard only if the server wants a key.
func askKey(ctx context.Context, env *command.Env, at string) (string, error) {
	key, err := command.ApiKey(env)
	if key != "" || err != nil {
		return key, err
	}
	read := env.ReadLine
	if env.StdinTerminal {
		if _, err := whoAmI(ctx, at, ""); !client.IsCode(err, "no_credentials") {
			return "", err
		}
		if env.Secret == nil {
			return "", command.BadUsage("pipe it in, or set "+command.KeyFileVariable,
				"no API key is set, and stdin is not a terminal to ask for one")
		}
		fmt.Fprintf(env.Stderr, "  API key for %s: ", at)
		defer fmt.Fprintln(env.Stderr)
		read = func(context.Context) (string, error) { return env.Secret() }
	}
	if key, err = read(ctx); err != nil {
		return "", err
	}
	return strings.TrimSpace(key), nil
}
