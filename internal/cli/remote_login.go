package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// logins holds what weir login saves: keys by server, for this user only.
type logins struct {
	Default string            `json:"default,omitempty"`
	Keys    map[string]string `json:"keys,omitempty"`
}

// trimmed is an address as it is kept.
func trimmed(server string) string { return strings.TrimRight(server, "/") }

// loginFile returns the path in the user's configuration directory; empty if that directory is not known.
func loginFile(env *Env) string {
	dir := env.Getenv("XDG_CONFIG_HOME")
	switch {
	case dir != "":
	case runtime.GOOS == "windows":
		dir = env.Getenv("AppData")
	case env.Getenv("HOME") == "":
		return ""
	case runtime.GOOS == "darwin":
		dir = filepath.Join(env.Getenv("HOME"), "Library", "Application Support")
	default:
		dir = filepath.Join(env.Getenv("HOME"), ".config")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "weir", "login.json")
}

func readLogins(env *Env) (l logins, err error) {
	path := loginFile(env)
	if path == "" {
		return l, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		if st, e := os.Stat(path); e == nil && runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 {
			return l, badUsage("chmod 600 "+quote(path), "%s holds API keys, and others can read it (%v)", path, st.Mode().Perm())
		}
		err = json.Unmarshal(raw, &l)
	}
	if err != nil {
		return l, badUsage("remove it, and log in again", "%s: %v", path, err)
	}
	return l, nil
}

func (l logins) write(env *Env) (path string, err error) {
	path = loginFile(env)
	if path == "" {
		return "", badUsage("set HOME, or use "+keyFileVariable, "cannot save the key: the home directory is not known")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", other(err, "")
	}
	raw, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return "", err
	}
	return path, replaceFile(path, append(raw, '\n')) // a new file is for its owner alone
}

func loginCommand() command {
	return command{
		use: "login [URL]", short: "save a server and its API key as the default",
		long: `Reads an API key from WEIR_API_KEY_FILE, WEIR_API_KEY, the first line of stdin, or the keyboard, and checks it at the
server. Then it saves the server and the key in a file that only you can read; other commands use them by default. The
key is never an argument. A server that requires no key is saved without one.`,
		example: `  weir login https://weir.example.com
  weir login https://weir.example.com < key.txt
  weir login --forget`,
		args: between(0, 1, "URL"),
		bind: func(fs *pflag.FlagSet) runner {
			forget := fs.Bool("forget", false, "delete all saved servers and keys")
			return func(ctx context.Context, env *Env, args []string) error {
				if *forget {
					return forgetLogins(env)
				}
				ctx, cancel := env.untilSignal(ctx)
				defer cancel()
				return login(ctx, env, args)
			}
		},
	}
}

func forgetLogins(env *Env) error {
	path := loginFile(env)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) && path != "" {
		return other(err, "")
	}
	newScreen(env).print("  all saved servers and keys are deleted; the keys stay valid until they are revoked")
	return nil
}

func login(ctx context.Context, env *Env, args []string) error {
	kept, err := readLogins(env)
	if err != nil {
		return err
	}
	at := kept.Default
	if s := env.Getenv(serverVariable); s != "" {
		at = s
	}
	if len(args) == 1 {
		at = args[0]
	}
	if at == "" {
		return badUsage("usage: "+env.Program+" login URL", "the server is missing")
	}
	key, err := askKey(ctx, env, at)
	if err != nil {
		return err
	}
	who, err := whoAmI(ctx, at, key)
	if key == "" && client.IsCode(err, "no_credentials") {
		return badUsage("pipe it in, or set "+keyFileVariable, "the key is missing")
	}
	if err != nil {
		return err
	}
	if kept.Keys == nil {
		kept.Keys = map[string]string{}
	}
	kept.Default = trimmed(at)
	delete(kept.Keys, trimmed(at))
	if key != "" {
		kept.Keys[trimmed(at)] = key
	}
	path, err := kept.write(env)
	if err != nil {
		return err
	}
	if key == "" {
		newScreen(env).print(fmt.Sprintf("  %s requires no key; it is saved in %s, and commands use it by default", trimmed(at), path))
		return nil
	}
	newScreen(env).print(fmt.Sprintf("  logged in to %s as %s (%s); saved in %s", trimmed(at), who.Name, strings.Join(who.Scopes, ", "), path))
	return nil
}

// whoAmI asks the server at an address whom it takes the owner of a key for; an empty key is none.
func whoAmI(ctx context.Context, at, key string) (api.Whoami, error) {
	c, err := client.New(client.Options{Server: at, Key: key})
	if err != nil {
		return api.Whoami{}, badUsage("write it as in https://weir.example.com", "%s", strings.TrimPrefix(err.Error(), "client: "))
	}
	defer c.Close()
	return c.WhoAmI(ctx)
}

// askKey reads the key from a place that other users cannot see; empty if none was given. It asks at the keyboard only if the server
// wants a key.
func askKey(ctx context.Context, env *Env, at string) (string, error) {
	key, err := apiKey(env)
	if key != "" || err != nil {
		return key, err
	}
	read := env.readLine
	if env.StdinTerminal {
		if _, err := whoAmI(ctx, at, ""); !client.IsCode(err, "no_credentials") {
			return "", err
		}
		if env.Secret == nil {
			return "", badUsage("pipe it in, or set "+keyFileVariable, "no API key is set, and stdin is not a terminal to ask for one")
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

// firstLine reads at most one line of a file that has no other reader.
func firstLine(r io.Reader) (string, error) {
	text, err := bufio.NewReader(io.LimitReader(r, 4096)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text, err
}
