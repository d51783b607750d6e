package link

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/edge/direct"
)

// ToNode returns the way of commands to the node of this process.
func ToNode(l *local.Node) (*Link, error) {
	c, err := client.New(client.Options{Server: "http://localhost", HTTP: &http.Client{Transport: direct.Transport{Handler: l}},
		UserAgent: "weir-cli/" + command.Version(), Tries: 1})
	return &Link{Printer: &command.Printer{Env: l.Env}, Client: c, Flag: l.DataFlag(), Local: l}, err
}

// Target says where the bulk actions of a command are: on a server, or in a data directory that no process uses.
type Target struct {
	Server
	flags *pflag.FlagSet
	Data  string
}

// Bind adds the flags --server and --data.
func (t *Target) Bind(fs *pflag.FlagSet) {
	t.flags = fs
	command.Grouped(fs, "Where", func(fs *pflag.FlagSet) {
		fs.StringVar(&t.URL, "server", "", "`URL` of the server (default $"+command.ServerVariable+", then the server of "+
			programName+" login)")
		fs.StringVar(&t.Data, "data", local.DefaultData, "data `DIR` of "+programName+" run, instead of a server")
	})
}

// AtServer reports whether a server is asked.
func (t *Target) AtServer(env *command.Env) bool { return t.Meant(env, t.flags) }

// Ask does something on the server, or with the node of the data directory, until a signal ends it.
func (t *Target) Ask(ctx context.Context, env *command.Env, out command.Format, do func(context.Context, *Link) error) (err error) {
	switch {
	case t.URL != "" && t.flags.Changed("data"):
		return command.BadUsage("keep one of --server and --data", "--server and --data do not go together")
	case t.AtServer(env):
		return t.Server.Ask(ctx, env, out, do)
	}
	if !t.flags.Changed("data") && !command.Exists(env.Path(t.Data)) {
		return command.BadUsage(fmt.Sprintf("add --server URL or --data DIR, set %s, or save a server with %s login URL",
			command.ServerVariable, env.Program),
			"no server is named, and %s is not a data directory", t.Data)
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	l, err := local.Open(ctx, env, t.Data, local.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	to, err := ToNode(l)
	if err != nil {
		return err
	}
	to.Out = out
	err = do(ctx, to)
	if client.IsCode(err, "not_found") {
		return command.BadUsage(env.Program+" list"+l.DataFlag()+" shows the runs there", "not found in %s", t.Data)
	}
	return command.LocalFailure(err)
}

// Anywhere makes a runner of what asks a server or a data directory. It adds the flags that all such commands have.
func Anywhere(fs *pflag.FlagSet, do func(ctx context.Context, l *Link, args []string) error) command.Runner {
	t, out := &Target{}, command.Format("")
	out.Bind(fs)
	t.Bind(fs)
	return func(ctx context.Context, env *command.Env, args []string) error {
		return t.Ask(ctx, env, out, func(ctx context.Context, l *Link) error { return do(ctx, l, args) })
	}
}
