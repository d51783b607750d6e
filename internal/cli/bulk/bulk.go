// Package bulk has the commands that show and change bulk actions: their state, their items and their failures.
package bulk

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
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
				if *yes || l.Env.CanAsk() { // if it cannot be told, the undo itself says why, or the key may not read
					if r, err := l.Report(ctx, args[0]); err == nil && r.UndoText != "" {
						fmt.Fprintf(l.Env.Stderr, "  %s\n", r.UndoText)
					}
				}
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
	var start api.Start
	return []command.Command{
		verb{name: "pause", short: "pause a bulk action; running tasks finish", wait: "wait until no task of it is in flight",
			anywhere: true, do: reasoned((*client.Client).Pause), until: atRest}.command(),
		verb{name: "resume", short: "resume a paused or stopped bulk action", do: reasoned((*client.Client).Resume)}.command(),
		verb{name: "approve", short: "approve the canary and run the remaining items",
			do: reasoned((*client.Client).Approve)}.command(),
		verb{name: "cancel", short: "cancel a bulk action; running tasks finish", anywhere: true,
			wait: "wait until it has ended and no task is in flight", danger: "cancelling", foretell: foretellCancel,
			do: reasoned((*client.Client).Cancel), until: atRest}.command(),
		verb{name: "start", short: "start a bulk action, now or later",
			flags: func(fs *pflag.FlagSet) {
				fs.StringVar(&start.StartAt, "start-at", "", "start `TIME`, as in 2030-01-31T18:00:00Z (default now)")
				fs.StringVar(&start.Zone, "zone", "", "IANA `ZONE` of --start-at, as in Europe/Berlin")
			},
			do: func(ctx context.Context, l *link.Link, id, reason string) (api.BulkAction, error) {
				start.Reason = reason
				return l.Start(ctx, id, start)
			}}.command(),
		listCommand(), getCommand(), watchCommand(), previewCommand(), checkCommand(), badRowsCommand(), duplicatesCommand(), forecastCommand(), trialCommand(), undoCommand(),
		cloneCommand(), reportCommand(), itemsCommand(), itemCommand(), errorsCommand(), timelineCommand(), dlqCommand(),
	}
}

// listOptions are the filters of weir list at a server.
type listOptions struct {
	target link.Target
	out    command.Format
	filter client.Filter
	state  string
	after  string
	before string
	limit  *int
}

func (o *listOptions) bind(fs *pflag.FlagSet) {
	command.Grouped(fs, "Which", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.state, "state", "", "only bulk actions in this `STATE`, as in running, or interrupted in a data directory")
		fs.StringVar(&o.filter.Tenant, "tenant", "", "only bulk actions of this `TENANT`")
		fs.StringVar(&o.filter.Name, "name", "", "only bulk actions whose names have words that begin like those of this `TEXT`")
		fs.StringVar(&o.filter.Label, "label", "", "only bulk actions with this label: `KEY=VALUE`, or KEY for any value")
		fs.StringVar(&o.filter.Template, "template", "", "only bulk actions created from the template `NAME`")
		fs.StringVar(&o.filter.RetryOf, "retry-of", "", "only retries of the bulk action `ID`")
		fs.StringVar(&o.filter.UndoOf, "undo-of", "", "only the undo of the bulk action `ID`")
		fs.StringVar(&o.after, "created-after", "", "only bulk actions created at or after this `TIME`, as in 24h or 2030-01-31T18:00:00Z")
		fs.StringVar(&o.before, "created-before", "", "only bulk actions created before this `TIME`, as in 2h or 2030-01-31T18:00:00Z")
		o.limit = command.LimitFlag(fs, 50)
	})
	o.out.Bind(fs)
	o.target.Bind(fs)
}

func (o *listOptions) run(ctx context.Context, l *link.Link) (err error) {
	if o.filter.CreatedAfter, err = command.Ago("--created-after", o.after); err != nil {
		return err
	}
	if o.filter.CreatedBefore, err = command.Ago("--created-before", o.before); err != nil {
		return err
	}
	o.filter.State = api.State(o.state)
	if o.state != watch.Interrupted || l.Local == nil {
		return command.List(l.Printer, watch.BulkViewAt(l), l.List(ctx, o.filter), *o.limit)
	}
	o.filter.State = ""
	return command.List(l.Printer, watch.BulkViewAt(l), func(yield func(api.BulkAction, error) bool) {
		for b, err := range l.List(ctx, o.filter) {
			if (err != nil || watch.IsInterrupted(&b)) && !yield(b, err) {
				return
			}
		}
	}, *o.limit)
}

func listCommand() command.Command {
	return command.Command{
		Use: "list", Short: "list bulk actions, the newest first",
		Long: "Lists the bulk actions of a server, or the runs in a data directory, the newest first." + link.Elsewhere,
		Example: `  weir list                                                  the runs in .weir
  weir list --server https://weir.example.com --state running
  weir list --created-after 48h --created-before 24h`,
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
	reason  string
	wait    bool
	timeout config.Span
}

func (o *verbOptions) bind(fs *pflag.FlagSet, wait string) {
	fs.StringVar(&o.reason, "reason", "", "`TEXT` for the audit log")
	fs.BoolVar(&o.wait, "wait", false, wait)
	fs.Var(&o.timeout, "timeout", "stop waiting after this time, as in 30m")
}

// verb is a command that does one thing to a bulk action, and may wait for what comes of it.
type verb struct {
	name, short string
	anywhere    bool                                      // it also works on an interrupted run in a data directory
	danger      string                                    // what it asks confirmation for; empty: it does not ask
	foretell    func(context.Context, *link.Link, string) // says what it will do
	wait        string                                    // the help of --wait. Default: until it ends
	flags       func(*pflag.FlagSet)
	do          func(ctx context.Context, l *link.Link, id, reason string) (api.BulkAction, error)
	until       func(context.Context, *link.Link, string) error // what --wait waits for. Default: its end
}

func (v verb) command() command.Command {
	c := command.Command{Use: v.name + " ID", Short: v.short, Args: command.BulkID}
	runner := link.Online
	if v.anywhere {
		c.Long, runner = strings.ToUpper(v.short[:1])+v.short[1:]+"."+link.Elsewhere, link.Anywhere
	}
	c.Bind = func(fs *pflag.FlagSet) command.Runner {
		if v.flags != nil {
			v.flags(fs)
		}
		o, yes := &verbOptions{}, new(bool)
		o.bind(fs, cmp.Or(v.wait, watch.WaitForEnd))
		if v.danger != "" {
			yes = command.YesFlag(fs)
		}
		return runner(fs, func(ctx context.Context, l *link.Link, args []string) error {
			if v.foretell != nil && (*yes || l.Env.CanAsk()) {
				v.foretell(ctx, l, args[0])
			}
			if v.danger != "" {
				if err := l.Env.Confirm(ctx, *yes, "%s %s", v.danger, args[0]); err != nil {
					return err
				}
			}
			b, err := v.do(ctx, l, args[0], o.reason)
			if err != nil {
				return err
			}
			if !o.wait && l.Local == nil { // the node of this process ends with the command: it has to apply the change first
				return command.One(l.Printer, watch.BulkView, b)
			}
			ctx, cancel := command.Within(ctx, time.Duration(o.timeout))
			defer cancel()
			until := v.until
			if until == nil {
				until = watch.ToEnd
			}
			return command.TooLong(ctx, until(ctx, l, b.ID))
		})
	}
	return c
}

// reasoned makes a verb of a method of the client that takes nothing but a reason.
func reasoned(do func(*client.Client, context.Context, string, string) (api.BulkAction, error)) func(context.Context, *link.Link,
	string, string) (api.BulkAction, error) {
	return func(ctx context.Context, l *link.Link, id, reason string) (api.BulkAction, error) {
		return do(l.Client, ctx, id, reason)
	}
}

// foretellCancel says what a cancel will do to the items. If that cannot be told, the cancel itself says why.
func foretellCancel(ctx context.Context, l *link.Link, id string) {
	p, err := l.Progress(ctx, id)
	if err != nil || p.Cancel == nil {
		return
	}
	fmt.Fprintf(l.Env.Stderr, "  %s\n", p.Cancel.Text)
	if p.Cancel.Unclear > 0 {
		fmt.Fprintf(l.Env.Stderr, "  %s\n", p.Cancel.UnclearText)
	}
	if p.Counts.Failed > 0 {
		foretellFailed(ctx, l, id)
	}
	for _, x := range p.Cancel.Begun {
		fmt.Fprintf(l.Env.Stderr, "  %s\n", x.Text)
	}
}

// foretellFailed says how many of the failed items, which a cancel does not change, the service may have done.
func foretellFailed(ctx context.Context, l *link.Link, id string) {
	groups, err := l.ErrorGroups(ctx, id)
	n := int64(0)
	for i := range groups {
		if err == nil && groups[i].Unclear {
			n += groups[i].Count
		}
	}
	if n > 0 {
		fmt.Fprintf(l.Env.Stderr, "  %s no clear answer: the service may have done the work. A retry sends the same keys.\n",
			term.Plural(n, "failed item has", "failed items have"))
	}
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
	return command.One(l.Printer, watch.BulkViewAt(l), b)
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
