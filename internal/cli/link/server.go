package link

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/term"
)

// Server says which server a command asks.
type Server struct {
	URL   string
	Tries int // of a request; 0: as many as the client makes
}

// Bind adds the flag --server.
func (r *Server) Bind(fs *pflag.FlagSet) {
	command.Grouped(fs, "Server", func(fs *pflag.FlagSet) {
		fs.StringVar(&r.URL, "server", "", "`URL` of the server (default $"+command.ServerVariable+", then the server of "+
			programName+" login)")
	})
}

// programName stands for the program in texts that are made before its name is known.
const programName = "weir"

// Elsewhere says when a command that works on a data directory uses a server instead.
const Elsewhere = "\nThe command uses a server if --server, $" + command.ServerVariable +
	" or weir login names one. Otherwise, and with --data DIR, it\nuses the data directory of weir run."

// Meant reports whether the command uses a server instead of a data directory.
func (r *Server) Meant(env *command.Env, fs *pflag.FlagSet) bool {
	return r.URL != "" || env.HasServer() && !fs.Changed("data") && !fs.Changed("redis")
}

// Open finds the server and the key.
func (r *Server) Open(env *command.Env) (*Link, error) {
	logins, err := command.ReadLogins(env)
	if err != nil {
		return nil, err
	}
	at := cmp.Or(r.URL, env.Getenv(command.ServerVariable), logins.Default)
	if at == "" {
		return nil, command.BadUsage(fmt.Sprintf("add --server URL, set %s, or save one with %s login URL", command.ServerVariable,
			env.Program), "no server is named: this command works only with a server; a run in a data directory continues with %s run --resume ID",
			env.Program)
	}
	key, err := command.ApiKey(env)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Options{Server: at, Key: cmp.Or(key, logins.Keys[command.Trimmed(at)]),
		UserAgent: "weir-cli/" + command.Version(), Tries: r.Tries})
	if err != nil {
		return nil, command.BadUsage("write it as in https://weir.example.com", "%s", strings.TrimPrefix(err.Error(), "client: "))
	}
	l := &Link{Printer: &command.Printer{Env: env}, Client: c}
	if r.URL != "" {
		l.Flag = " --server " + term.Quote(r.URL)
	}
	return l, nil
}

// Online makes a runner of what asks a server. It adds the flags that all such commands have.
func Online(fs *pflag.FlagSet, do func(ctx context.Context, l *Link, args []string) error) command.Runner {
	r, out := &Server{}, command.Format("")
	out.Bind(fs)
	r.Bind(fs)
	return func(ctx context.Context, env *command.Env, args []string) error {
		return r.Ask(ctx, env, out, func(ctx context.Context, l *Link) error { return do(ctx, l, args) })
	}
}

// Ask does something at the server, until a signal ends it.
func (r *Server) Ask(ctx context.Context, env *command.Env, out command.Format, do func(context.Context, *Link) error) error {
	l, err := r.Open(env)
	if err != nil {
		return err
	}
	defer l.Close()
	l.Out = out
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	return do(ctx, l)
}
