package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
)

func connectionView() view[api.Connection] {
	type c = api.Connection
	return view[c]{plural: "connections", id: func(x *c) string { return x.Name }, columns: []column[c]{
		{"name", func(x *c) any { return x.Name }},
		{"kind", func(x *c) any { return x.Kind }},
		{"url", func(x *c) any { return x.URL }},
		{"tenants", func(x *c) any { return x.Tenants }},
		{"origin", func(x *c) any { return x.Origin }},
		{"changed", func(x *c) any { return changedText(x.Provenance) }},
	}}
}

func connectionsCommand() command {
	return command{use: "connections", short: "manage databases, buckets and brokers to read items from: list, apply, delete", subs: []command{
		{use: "list", short: "list the connections, without their secrets", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, _ []string) error {
				return list(l, connectionView(), l.Connections(ctx), 0)
			})
		}},
		{use: "apply -f FILE", short: "create or update connections from a file", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
			return applied(fs, connectionView(), func(c *api.Connection) string { return c.Name }, nil,
				func(ctx context.Context, l *link, name string, c api.Connection) (api.Connection, error) {
					return l.PutConnection(ctx, name, c)
				})
		}},
		removing("delete NAME", "delete a connection", "the connection",
			func(ctx context.Context, l *link, name string) error { return l.DeleteConnection(ctx, name) }),
	}}
}

// applied makes the runner of apply: one thing of a file, or a list of them. All
// are checked as far as a client can before the first is sent.
func applied[T any](fs *pflag.FlagSet, v view[T], name func(*T) string, check func(*T) error,
	put func(context.Context, *link, string, T) (T, error)) runner {
	file := fileFlag(fs)
	return online(fs, func(ctx context.Context, l *link, _ []string) error {
		all, err := readAll[T](l.env, *file)
		if err != nil {
			return err
		}
		for i := range all {
			if name(&all[i]) == "" {
				return badUsage("give each a name", "%s: entry %d has no name", *file, i+1)
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
		return list(l, v, seq(done), 0)
	})
}

// atEntry says which of n entries of a file an error is about.
func atEntry(err error, file string, i, n int, name string) *failure {
	f, said := errors.AsType[*failure](err)
	if !said {
		f = explain(err)
	}
	out := *f
	where := file
	if n > 1 {
		where = entryName(file, i, name)
	}
	out.what = where + ": " + out.what
	return &out
}

// appliedBefore adds that the n entries before the failed one are in place.
func appliedBefore(f *failure, n int) *failure {
	switch {
	case n == 1:
		f.what += "\nentry 1 was applied; the rest was not"
	case n > 1:
		f.what += fmt.Sprintf("\nentries 1 to %d were applied; the rest was not", n)
	}
	return f
}

func fileFlag(fs *pflag.FlagSet) *string {
	return fs.StringP("file", "f", "", "YAML or JSON `FILE` in the format of the API; - is stdin")
}

// readAll reads one thing, or a list of them.
func readAll[T any](env *Env, file string) (all []T, err error) {
	if file == "" {
		return nil, badUsage("add -f FILE; - reads stdin", "the file is missing")
	}
	from := "@" + file
	if file == "-" {
		from = file
	}
	raw, err := env.readArgument(from)
	if err != nil {
		return nil, err
	}
	return decodeSpecs[T](file, raw)
}

// removing is a command that removes something for good.
func removing(use, short, what string, do func(context.Context, *link, string) error) command {
	_, arg, _ := strings.Cut(use, " ")
	return command{use: use, short: short, args: between(1, 1, arg), bind: func(fs *pflag.FlagSet) runner {
		yes := yesFlag(fs)
		return online(fs, func(ctx context.Context, l *link, args []string) error {
			if err := l.confirm(ctx, *yes, "deleting %s %s", what, args[0]); err != nil {
				return err
			}
			if err := do(ctx, l, args[0]); err != nil {
				return err
			}
			l.say("%s %s is deleted", what, args[0])
			return nil
		})
	}}
}
