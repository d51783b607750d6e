// Package bulk has the commands that show and change bulk actions: their state, their items and their failures.
package bulk

import (
	"context"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/watch"
)

func undoCommand() command.Command {
	return command.Command{
		Use: "undo ID", Short: "undo the done items of a bulk action, where its actions support it", Args: command.BulkID,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o := &verbOptions{}
			o.bind(fs, watch.WaitForEnd)
			yes := command.YesFlag(fs)
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				if err := l.Env.Confirm(ctx, *yes, "undoing %s", args[0]); err != nil {
					return err
				}
				made, err := l.Undo(ctx, args[0], o.reason)
				if err != nil {
					return err
				}
				return watch.Linked(ctx, l, made, o.wait, o.timeout)
			})
		},
	}
}

// Commands returns the commands that show and change bulk actions.
func Commands() []command.Command {
	return []command.Command{
		verbCommand("pause", "pause a bulk action; running tasks finish", "wait until no task of it is in flight", false,
			reasoned((*client.Client).Pause), atRest),
		verbCommand("resume", "resume a paused or stopped bulk action", watch.WaitForEnd, false,
			reasoned((*client.Client).Resume), watch.ToEnd),
		verbCommand("approve", "approve the canary and run the remaining items", watch.WaitForEnd, false,
			reasoned((*client.Client).Approve), watch.ToEnd),
		listCommand(), getCommand(), watchCommand(), startCommand(), cancelCommand(), previewCommand(), forecastCommand(),
		trialCommand(), undoCommand(), cloneCommand(), reportCommand(),
		itemsCommand(), itemCommand(), errorsCommand(), dlqCommand(),
	}
}

// listOptions are the filters of weir list at a server.
type listOptions struct {
	target link.Target
	out    command.Format
	filter client.Filter
	state  string
	limit  *int
}

func (o *listOptions) bind(fs *pflag.FlagSet) {
	command.Grouped(fs, "Which", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.state, "state", "", "only bulk actions in this `STATE`, as in running")
		fs.StringVar(&o.filter.Tenant, "tenant", "", "only bulk actions of this `TENANT`")
		fs.StringVar(&o.filter.Name, "name", "", "only bulk actions with this `TEXT` in their name")
		fs.StringVar(&o.filter.Label, "label", "", "only bulk actions with this label: `KEY=VALUE`, or KEY for any value")
		fs.StringVar(&o.filter.Template, "template", "", "only bulk actions created from the template `NAME`")
		o.limit = command.LimitFlag(fs, 50)
	})
	o.out.Bind(fs)
	o.target.Bind(fs)
}

func (o *listOptions) run(ctx context.Context, l *link.Link) error {
	o.filter.State = api.State(o.state)
	return command.List(l.Printer, watch.BulkViewAt(l), l.List(ctx, o.filter), *o.limit)
}

func listCommand() command.Command {
	return command.Command{
		Use: "list", Short: "list bulk actions, the newest first",
		Long: "Lists the bulk actions of a server, or the runs in a data directory, the newest first. " + link.Elsewhere,
		Example: `  weir list                                                  the runs in .weir
  weir list --server https://weir.example.com --state running`,
		Args: command.Args(0, 0, ""),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o := &listOptions{}
			o.bind(fs)
			return func(ctx context.Context, env *command.Env, _ []string) error {
				return o.target.Ask(ctx, env, o.out, o.run)
			}
		},
	}
}

func getCommand() command.Command {
	return command.Command{
		Use: "get ID", Short: "show a bulk action", Args: command.BulkID,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			return link.Anywhere(fs, func(ctx context.Context, l *link.Link, args []string) error {
				b, err := l.Get(ctx, args[0])
				if err != nil {
					return err
				}
				if l.Local != nil { // which rows became no items is known to the run alone
					if r, err := l.Local.Runs.Get(b.ID); err == nil {
						b.Duplicates, b.BadLines = r.Duplicates, r.Invalid
					}
				}
				v := watch.BulkViewAt(l)
				if l.Out == command.Table {
					v.More = append(watch.Pace(ctx, l, &b), v.More...)
				}
				return command.One(l.Printer, v, b)
			})
		},
	}
}

// verbOptions holds the flags of the commands that change a bulk action.
type verbOptions struct {
	reason    string
	wait, yes bool
	timeout   config.Span
}

func (o *verbOptions) bind(fs *pflag.FlagSet, wait string) {
	fs.StringVar(&o.reason, "reason", "", "`TEXT` for the audit log")
	fs.BoolVar(&o.wait, "wait", false, wait)
	fs.Var(&o.timeout, "timeout", "stop waiting after this time, as in 30m")
}

// verb changes a bulk action and returns it.
type verb func(context.Context, *link.Link, string, *verbOptions) (api.BulkAction, error)

// verbCommand is a command that does one thing to a bulk action, and may wait for what comes of it.
func verbCommand(name, short, wait string, danger bool,
	do verb, until func(context.Context, *link.Link, string) error) command.Command {
	return command.Command{
		Use: name + " ID", Short: short, Args: command.BulkID,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o := &verbOptions{}
			o.bind(fs, wait)
			if danger {
				fs.BoolVar(&o.yes, "yes", false, "do not ask for confirmation")
			}
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				b, err := do(ctx, l, args[0], o)
				if err != nil {
					return err
				}
				if !o.wait {
					return command.One(l.Printer, watch.BulkView, b)
				}
				ctx, cancel := command.Within(ctx, time.Duration(o.timeout))
				defer cancel()
				return command.TooLong(ctx, until(ctx, l, b.ID))
			})
		},
	}
}

func startCommand() command.Command {
	var at, zone string
	c := verbCommand("start", "start a bulk action, now or later", watch.WaitForEnd, false,
		func(ctx context.Context, l *link.Link, id string, o *verbOptions) (api.BulkAction, error) {
			return l.Start(ctx, id, api.Start{StartAt: at, Zone: zone, Reason: o.reason})
		}, watch.ToEnd)
	bind := c.Bind
	c.Bind = func(fs *pflag.FlagSet) command.Runner {
		fs.StringVar(&at, "start-at", "", "start `TIME`, as in 2030-01-31T18:00:00Z (default now)")
		fs.StringVar(&zone, "zone", "", "IANA `ZONE` of --start-at, as in Europe/Berlin")
		return bind(fs)
	}
	return c
}

// reasoned makes a verb of a method of the client that takes nothing but a reason.
func reasoned(do func(*client.Client, context.Context, string, string) (api.BulkAction, error)) verb {
	return func(ctx context.Context, l *link.Link, id string, o *verbOptions) (api.BulkAction, error) {
		return do(l.Client, ctx, id, o.reason)
	}
}

func cancelCommand() command.Command {
	return verbCommand("cancel", "cancel a bulk action; running tasks finish",
		"wait until it has ended and no task is in flight", true,
		func(ctx context.Context, l *link.Link, id string, o *verbOptions) (api.BulkAction, error) {
			if err := l.Env.Confirm(ctx, o.yes, "cancelling %s", id); err != nil {
				return api.BulkAction{}, err
			}
			return l.Cancel(ctx, id, o.reason)
		}, atRest)
}

// atRest waits until no task of a bulk action is in flight.
func atRest(ctx context.Context, l *link.Link, id string) error {
	for p, err := range l.Watch(ctx, id) {
		if err != nil {
			return err
		}
		if p.Counts.InFlight == 0 && p.State != api.Running && p.State != api.Cancelling {
			break
		}
	}
	b, err := l.Get(ctx, id)
	if err != nil {
		return err
	}
	return command.One(l.Printer, watch.BulkView, b)
}

func watchCommand() command.Command {
	return command.Command{
		Use: "watch ID", Short: "show the progress of a bulk action until it ends",
		Long: `Shows the progress of a bulk action, like weir run. The server does the work: Ctrl-C stops only the watching.
Without a terminal it prints one line every 10 seconds; -o json or ndjson prints every change as a line of JSON.

Exit codes: 0 all items are done · 5 ended, some items failed or were cancelled · 6 stopped by a rule, or the canary waits
for approval · 7 --timeout was reached · 130 interrupted; the work continues`,
		Args: command.BulkID,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			var timeout config.Span
			fs.Var(&timeout, "timeout", "stop watching after this time, as in 30m")
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				ctx, cancel := command.Within(ctx, time.Duration(timeout))
				defer cancel()
				return command.TooLong(ctx, watch.ToEnd(ctx, l, args[0]))
			})
		},
	}
}
