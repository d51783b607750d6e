// Package manage has the commands for what a server keeps besides bulk actions: actions, resources, tenants,
// connections, templates, schedules, webhooks and API keys.
package manage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/spec"
)

// Commands returns the commands that manage the objects of a server, and the access to it.
func Commands() []command.Command {
	return []command.Command{
		actionsCommand(), resourcesCommand(), tenantsCommand(), connectionsCommand(), templatesCommand(), schedulesCommand(),
		webhooksCommand(), keysCommand(), auditCommand(), loginCommand(), apiCommand(),
	}
}

func connectionView() command.View[api.Connection] {
	type c = api.Connection
	return command.View[c]{Plural: "connections", ID: func(x *c) string { return x.Name }, Columns: []command.Column[c]{
		command.Col("name", func(x *c) any { return x.Name }),
		command.Col("kind", func(x *c) any { return x.Kind }),
		command.Col("url", func(x *c) any { return x.URL }),
		command.Col("tenants", func(x *c) any { return x.Tenants }),
		command.Col("origin", func(x *c) any { return x.Origin }),
		command.Col("changed", func(x *c) any { return changedText(x.Provenance) }),
	}}
}

func connectionsCommand() command.Command {
	return command.Command{Use: "connections", Short: "manage databases, buckets and brokers to read items from: list, apply, delete", Subs: []command.Command{
		{Use: "list", Short: "list the connections, without their secrets", Args: command.Args(0, 0, ""), Bind: func(fs *pflag.FlagSet) command.Runner {
			return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
				return command.List(l.Printer, connectionView(), l.Connections(ctx), 0)
			})
		}},
		{Use: "apply -f FILE", Short: "create or update connections from a file", Args: command.Args(0, 0, ""), Bind: func(fs *pflag.FlagSet) command.Runner {
			return applied(fs, connectionView(), func(c *api.Connection) string { return c.Name }, nil,
				func(ctx context.Context, l *link.Link, name string, c api.Connection) (api.Connection, error) {
					return l.PutConnection(ctx, name, c)
				})
		}},
		removing("delete NAME", "delete a connection", "the connection",
			func(ctx context.Context, l *link.Link, name string) error { return l.DeleteConnection(ctx, name) }),
	}}
}

// applied makes the runner of apply: one thing of a file, or a list of them. All
// are checked as far as a client can before the first is sent.
func applied[T any](fs *pflag.FlagSet, v command.View[T], name func(*T) string, check func(*T) error,
	put func(context.Context, *link.Link, string, T) (T, error)) command.Runner {
	file := spec.FileFlag(fs)
	return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
		all, err := spec.ReadAll[T](l.Env, *file)
		if err != nil {
			return err
		}
		for i := range all {
			if name(&all[i]) == "" {
				return command.BadUsage("give each a name", "%s: entry %d has no name", *file, i+1)
			}
			if check == nil {
				continue
			}
			if err := check(&all[i]); err != nil {
				return atEntry(err, *file, i, len(all), name(&all[i]))
			}
		}
		done := make([]T, 0, len(all))
		for i := range all {
			x, err := put(ctx, l, name(&all[i]), all[i])
			if err != nil {
				return appliedBefore(atEntry(err, *file, i, len(all), name(&all[i])), i)
			}
			done = append(done, x)
		}
		return command.List(l.Printer, v, command.Seq(done), 0)
	})
}

// atEntry says which of n entries of a file an error is about.
func atEntry(err error, file string, i, n int, name string) *command.Failure {
	f, said := errors.AsType[*command.Failure](err)
	if !said {
		f = command.Explain(err)
	}
	out := *f
	where := file
	if n > 1 {
		where = spec.EntryName(file, i, name)
	}
	out.What = where + ": " + out.What
	return &out
}

// appliedBefore adds that the n entries before the failed one are in place.
func appliedBefore(f *command.Failure, n int) *command.Failure {
	switch {
	case n == 1:
		f.What += "\nentry 1 was applied; the rest was not"
	case n > 1:
		f.What += fmt.Sprintf("\nentries 1 to %d were applied; the rest was not", n)
	}
	return f
}

// removing is a command that removes something for good.
func removing(use, short, what string, do func(context.Context, *link.Link, string) error) command.Command {
	_, arg, _ := strings.Cut(use, " ")
	return command.Command{Use: use, Short: short, Args: command.Args(1, 1, arg), Bind: func(fs *pflag.FlagSet) command.Runner {
		yes := command.YesFlag(fs)
		return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
			if err := l.Env.Confirm(ctx, *yes, "deleting %s %s", what, args[0]); err != nil {
				return err
			}
			if err := do(ctx, l, args[0]); err != nil {
				return err
			}
			l.Say("%s %s is deleted", what, args[0])
			return nil
		})
	}}
}
