package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/client"
)

// Where the key to a server comes from. It is never a flag: command lines are seen by others.
const (
	keyVariable     = "WEIR_API_KEY"
	keyFileVariable = "WEIR_API_KEY_FILE"
)

// remote says which server a command asks.
type remote struct{ server string }

func (r *remote) bind(fs *pflag.FlagSet) {
	grouped(fs, "Server", func(fs *pflag.FlagSet) {
		fs.StringVar(&r.server, "server", "", "`URL` of the server (default $"+serverVariable+", then the server of "+programName+" login)")
	})
}

// programName stands for the program in texts that are made before its name is known.
const programName = "weir"

// elsewhere says when a command that works on a data directory uses a server instead.
const elsewhere = "The command uses a\nserver if --server, $" + serverVariable +
	" or weir login names one. Otherwise, and with --data DIR, it uses the data directory of weir run."

// meant reports whether the command uses a server instead of a data directory.
func (r *remote) meant(env *Env, fs *pflag.FlagSet) bool {
	return r.server != "" || env.hasServer() && !fs.Changed("data") && !fs.Changed("redis")
}

// target says where the bulk actions of a command are: on a server, or in a data directory that no process uses.
type target struct {
	remote
	flags *pflag.FlagSet
	data  string
}

func (t *target) bind(fs *pflag.FlagSet) {
	t.flags = fs
	grouped(fs, "Where", func(fs *pflag.FlagSet) {
		fs.StringVar(&t.server, "server", "", "`URL` of the server (default $"+serverVariable+", then the server of "+programName+" login)")
		fs.StringVar(&t.data, "data", defaultData, "data `DIR` of "+programName+" run, instead of a server")
	})
}

// atServer reports whether a server is asked.
func (t *target) atServer(env *Env) bool { return t.meant(env, t.flags) }

// ask does something on the server, or with the node of the data directory, until a signal ends it.
func (t *target) ask(ctx context.Context, env *Env, out output, do func(context.Context, *link) error) (err error) {
	switch {
	case t.server != "" && t.flags.Changed("data"):
		return badUsage("keep one of --server and --data", "--server and --data do not go together")
	case t.atServer(env):
		return t.remote.ask(ctx, env, out, do)
	}
	if !t.flags.Changed("data") && !exists(env.path(t.data)) {
		return badUsage(fmt.Sprintf("add --server URL or --data DIR, set %s, or save a server with %s login URL", serverVariable, env.Program),
			"no server is named, and %s is not a data directory", t.data)
	}
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	l, err := openLocal(ctx, env, t.data, localOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	to, err := l.link()
	if err != nil {
		return err
	}
	to.out = out
	err = do(ctx, to)
	if client.IsCode(err, "not_found") {
		return badUsage(env.Program+" list"+l.dataFlag()+" shows the runs there", "not found in %s", t.data)
	}
	return here(err)
}

// anywhere makes a runner of what asks a server or a data directory. It adds the flags that all such commands have.
func anywhere(fs *pflag.FlagSet, do func(ctx context.Context, l *link, args []string) error) runner {
	t, out := &target{}, output("")
	out.bind(fs)
	t.bind(fs)
	return func(ctx context.Context, env *Env, args []string) error {
		return t.ask(ctx, env, out, func(ctx context.Context, l *link) error { return do(ctx, l, args) })
	}
}

// hasServer reports whether commands ask a server without being told: the
// environment names one, or weir login has kept one. If that cannot be read, it
// does, and the command says what is wrong.
func (e *Env) hasServer() bool {
	if e.Getenv(serverVariable) != "" {
		return true
	}
	l, err := readLogins(e)
	return err != nil || l.Default != ""
}

// stray refuses flags that do not apply.
func stray(fs *pflag.FlagSet, fix, where string, names ...string) error {
	for _, n := range names {
		if fs.Changed(n) {
			return badUsage(fix, "--%s is for %s", n, where)
		}
	}
	return nil
}

// link is a command's way to a server, or to the node of this process.
type link struct {
	env *Env
	*client.Client
	out   output
	flag  string // that leads there again, for commands to be repeated
	local *local // nil: a server
}

// open finds the server and the key.
func (r *remote) open(env *Env) (*link, error) {
	logins, err := readLogins(env)
	if err != nil {
		return nil, err
	}
	at := cmp.Or(r.server, env.Getenv(serverVariable), logins.Default)
	if at == "" {
		return nil, badUsage(fmt.Sprintf("add --server URL, set %s, or save one with %s login URL", serverVariable,
			env.Program), "no server is named: this command works only with a server")
	}
	key, err := apiKey(env)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Options{Server: at, Key: cmp.Or(key, logins.Keys[trimmed(at)]), UserAgent: "weir-cli/" + version()})
	if err != nil {
		return nil, badUsage("write it as in https://weir.example.com", "%s", strings.TrimPrefix(err.Error(), "client: "))
	}
	l := &link{env: env, Client: c}
	if r.server != "" {
		l.flag = " --server " + quote(r.server)
	}
	return l, nil
}

// apiKey is the key of the environment, if there is one.
func apiKey(env *Env) (string, error) {
	path := env.Getenv(keyFileVariable)
	if path == "" {
		return strings.TrimSpace(env.Getenv(keyVariable)), nil
	}
	st, err := os.Stat(env.path(path))
	if err != nil {
		return "", badUsage("write the key into it", "%s: %v", keyFileVariable, err)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o004 != 0 {
		return "", badUsage("chmod 600 "+quote(path), "%s: %s is readable by every user (%v)", keyFileVariable, path, st.Mode().Perm())
	}
	raw, err := os.ReadFile(env.path(path))
	if err != nil {
		return "", badUsage("", "%s: %v", keyFileVariable, err)
	}
	key := strings.TrimSpace(string(raw))
	if key == "" {
		return "", badUsage("write the key into it", "%s: %s is empty", keyFileVariable, path)
	}
	return key, nil
}

// online makes a runner of what asks a server. It adds the flags that all such commands have.
func online(fs *pflag.FlagSet, do func(ctx context.Context, l *link, args []string) error) runner {
	r, out := &remote{}, output("")
	out.bind(fs)
	r.bind(fs)
	return func(ctx context.Context, env *Env, args []string) error {
		return r.ask(ctx, env, out, func(ctx context.Context, l *link) error { return do(ctx, l, args) })
	}
}

// ask does something at the server, until a signal ends it.
func (r *remote) ask(ctx context.Context, env *Env, out output, do func(context.Context, *link) error) error {
	l, err := r.open(env)
	if err != nil {
		return err
	}
	defer l.Close()
	l.out = out
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	return do(ctx, l)
}

// say writes a message.
func (l *link) say(format string, args ...any) {
	newScreen(l.env).print("  " + fmt.Sprintf(format, args...))
}

// confirm asks before a permanent change. Without a terminal it cannot ask,
// and --yes is required.
func (l *link) confirm(ctx context.Context, yes bool, format string, args ...any) error {
	if yes {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	if !l.env.StdinTerminal || l.env.Terminal == nil {
		return badUsage("confirm with --yes", "%s is permanent", what)
	}
	fmt.Fprintf(l.env.Stderr, "  %s is permanent. Continue? [y/N] ", what)
	answer, err := l.env.readLine(ctx)
	if err != nil {
		return err
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return &failure{exitOther, "nothing was done", ""}
	}
	return nil
}

// readLine reads a line of stdin, or ends with ctx: a read of a terminal cannot be taken back.
func (e *Env) readLine(ctx context.Context) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := firstLine(e.Stdin)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// yesFlag adds the flag that confirms a permanent change.
func yesFlag(fs *pflag.FlagSet) *bool {
	return fs.Bool("yes", false, "do not ask for confirmation")
}

// within bounds a command by --timeout; 0: nothing does.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, errTooLong)
}

var errTooLong = errors.New("--timeout was reached")
