package manage

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/spec"
)

// kind is one kind of object that a server keeps. It makes the commands that kinds have in common; what only one kind
// has, such as the flags of set, stands with that kind.
type kind[T any] struct {
	noun string // as in "the action"
	arg  string // what identifies one: NAME or ID
	view command.View[T]
	name func(*T) string // how a file calls one. Default: the id of view
	of   func(*client.Client) client.Collection[T]
}

// list lists all objects. long may be empty.
func (k kind[T]) list(short, long string) command.Command {
	return command.Command{Use: "list", Short: short, Long: long, Args: command.Args(0, 0, ""),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
				return command.List(l.Printer, k.view, k.of(l.Client).List(ctx), 0)
			})
		}}
}

// get shows one object.
func (k kind[T]) get(short string) command.Command {
	return k.verb("get", short, func(ctx context.Context, l *link.Link, id string) (T, error) {
		return k.of(l.Client).Get(ctx, id)
	})
}

// verb does something to one object and shows what came of it.
func (k kind[T]) verb(name, short string, do func(context.Context, *link.Link, string) (T, error)) command.Command {
	return command.Command{Use: name + " " + k.arg, Short: short, Args: command.Args(1, 1, k.arg),
		Bind: func(fs *pflag.FlagSet) command.Runner { return k.show(fs, do) }}
}

// show makes the runner of a command that ends by showing one object.
func (k kind[T]) show(fs *pflag.FlagSet, do func(context.Context, *link.Link, string) (T, error)) command.Runner {
	return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
		x, err := do(ctx, l, args[0])
		if err != nil {
			return err
		}
		return command.One(l.Printer, k.view, x)
	})
}

// reset deletes what was set at run time and shows what holds then. gone is said of an object that is left nowhere.
func (k kind[T]) reset(short, gone string) command.Command {
	return command.Command{Use: "reset " + k.arg, Short: short, Args: command.Args(1, 1, k.arg),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				if err := k.of(l.Client).Delete(ctx, args[0]); err != nil {
					return err
				}
				x, err := k.of(l.Client).Get(ctx, args[0])
				switch {
				case gone != "" && client.IsCode(err, "not_found"):
					l.Say(gone, args[0])
					return nil
				case err != nil:
					return err
				}
				return command.One(l.Printer, k.view, x)
			})
		}}
}

// delete removes one object for good.
func (k kind[T]) delete(short string) command.Command {
	return command.Command{Use: "delete " + k.arg, Short: short, Args: command.Args(1, 1, k.arg),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			yes := command.YesFlag(fs)
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				if err := l.Env.Confirm(ctx, *yes, "deleting the %s %s", k.noun, args[0]); err != nil {
					return err
				}
				if err := k.of(l.Client).Delete(ctx, args[0]); err != nil {
					return err
				}
				l.Say("the %s %s is deleted", k.noun, args[0])
				return nil
			})
		}}
}

// apply creates or replaces the objects of a file under their names. check finds what any server would refuse; it
// may be nil.
func (k kind[T]) apply(short, example string, check func(*T) error) command.Command {
	return command.Command{Use: "apply -f FILE", Short: short, Example: example, Args: command.Args(0, 0, ""),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			return k.fromFile(fs, check, func(ctx context.Context, l *link.Link, x *T) (T, error) {
				return k.of(l.Client).Put(ctx, k.view.ID(x), *x)
			}, false)
		}}
}

// create creates the objects of a file. The server gives the ids.
func (k kind[T]) create(short, example string) command.Command {
	return command.Command{Use: "create -f FILE", Short: short, Example: example, Args: command.Args(0, 0, ""),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			return k.fromFile(fs, nil, func(ctx context.Context, l *link.Link, x *T) (T, error) {
				return k.of(l.Client).Create(ctx, *x)
			}, true)
		}}
}

// fromFile makes a runner that sends one object of a file, or a list of them. There is no transaction over several: all
// are checked as far as a client can before the first is sent, and a failure says how many were sent before it.
func (k kind[T]) fromFile(fs *pflag.FlagSet, check func(*T) error,
	send func(context.Context, *link.Link, *T) (T, error), detail bool) command.Runner {
	file := spec.FileFlag(fs)
	return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
		all, err := spec.ReadAll[T](l.Env, *file)
		if err != nil {
			return err
		}
		names := make([]string, len(all))
		for i := range all {
			names[i] = k.called(&all[i])
			if k.arg == "NAME" && names[i] == "" {
				return command.BadUsage("give each a name", "%s: entry %d has no name", *file, i+1)
			}
			if check == nil {
				continue
			}
			if err := check(&all[i]); err != nil {
				return atEntry(err, *file, i, names)
			}
		}
		done := make([]T, 0, len(all))
		for i := range all {
			x, err := send(ctx, l, &all[i])
			if err != nil {
				return appliedBefore(atEntry(err, *file, i, names), i)
			}
			done = append(done, x)
		}
		if detail && len(done) == 1 {
			return command.One(l.Printer, k.view, done[0])
		}
		return command.List(l.Printer, k.view, command.Seq(done), 0)
	})
}

// called returns how a file calls an object.
func (k kind[T]) called(x *T) string {
	if k.name != nil {
		return k.name(x)
	}
	return k.view.ID(x)
}

// atEntry says which entry of a file an error is about, if there are several.
func atEntry(err error, file string, i int, names []string) *command.Failure {
	f, said := errors.AsType[*command.Failure](err)
	if !said {
		f = command.Explain(err)
	}
	out := *f
	where := file
	if len(names) > 1 {
		where = spec.EntryName(file, i, names[i])
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
