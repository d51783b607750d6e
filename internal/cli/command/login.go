package command

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/weirhq/weir/internal/cli/term"
)

// ServerVariable names the server that commands ask.
const ServerVariable = "WEIR_SERVER"

// Where the key to a server comes from. It is never a flag: command lines are seen by others.
const (
	keyVariable     = "WEIR_API_KEY"
	KeyFileVariable = "WEIR_API_KEY_FILE"
)

// HasServer reports whether commands ask a server without being told: the
// environment names one, or weir login has kept one. If that cannot be read, it
// does, and the command says what is wrong.
func (e *Env) HasServer() bool {
	if e.Getenv(ServerVariable) != "" {
		return true
	}
	l, err := ReadLogins(e)
	return err != nil || l.Default != ""
}

// ApiKey is the key of the environment, if there is one.
func ApiKey(env *Env) (string, error) {
	path := env.Getenv(KeyFileVariable)
	if path == "" {
		return strings.TrimSpace(env.Getenv(keyVariable)), nil
	}
	return ReadSecret(KeyFileVariable+":", env.Path(path))
}

// Logins holds what weir login saves: keys by server, for this user only.
type Logins struct {
	Default string            `json:"default,omitempty"`
	Keys    map[string]string `json:"keys,omitempty"`
}

// Trimmed is an address as it is kept.
func Trimmed(server string) string { return strings.TrimRight(server, "/") }

// LoginFile returns the path in the user's configuration directory; empty if that directory is not known.
func LoginFile(env *Env) string {
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

// ReadLogins reads what weir login has saved. It refuses a file that other users can read: it holds keys.
func ReadLogins(env *Env) (l Logins, err error) {
	path := LoginFile(env)
	if path == "" {
		return l, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		if st, e := os.Stat(path); e == nil && runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 {
			return l, BadUsage("chmod 600 "+term.Quote(path), "%s holds API keys, and others can read it (%v)", path, st.Mode().Perm())
		}
		err = json.Unmarshal(raw, &l)
	}
	if err != nil {
		return l, BadUsage("remove it, and log in again", "%s: %v", path, err)
	}
	return l, nil
}

// Write saves the logins in one move, and returns the path of the file.
func (l Logins) Write(env *Env) (path string, err error) {
	path = LoginFile(env)
	if path == "" {
		return "", BadUsage("set HOME, or use "+KeyFileVariable, "cannot save the key: the home directory is not known")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", Other(err, "")
	}
	raw, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return "", err
	}
	return path, ReplaceFile(path, append(raw, '\n')) // a new file is for its owner alone
}
