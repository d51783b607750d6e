package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/report"
)

// bulkView shows bulk actions.
func bulkView() view[api.BulkAction] {
	type b = api.BulkAction
	return view[b]{
		plural: "bulk actions",
		id:     func(x *b) string { return x.ID },
		columns: []column[b]{
			{"id", func(x *b) any { return x.ID }},
			{"name", func(x *b) any { return x.Name }},
			{"tenant", func(x *b) any { return x.Tenant }},
			{"state", func(x *b) any { return stateText(x) }},
			{"items", func(x *b) any { return x.Counts.Total }},
			{"done", func(x *b) any { return x.Counts.Done }},
			{"failed", func(x *b) any { return x.Counts.Failed }},
			{"created", func(x *b) any { return x.CreatedAt }},
			{"retry of", func(x *b) any { return x.RetryOf }},
		},
		more: []column[b]{
			{"outcome", func(x *b) any { return x.Outcome }},
			{"reason", func(x *b) any { return x.Reason }},
			{"last error", func(x *b) any { return lastErrorText(x) }},
			{"steps", func(x *b) any { return stepNames(x.Steps) }},
			{"in flight", func(x *b) any { return none(x.Counts.InFlight) }},
			{"waiting", func(x *b) any { return none(x.Counts.Waiting) }},
			{"ready", func(x *b) any { return none(x.Counts.Ready) }},
			{"cancelled", func(x *b) any { return none(x.Counts.Cancelled) }},
			{"duplicates", func(x *b) any { return none(x.Duplicates) }},
			{"bad lines", func(x *b) any { return none(x.BadLines) }},
			{"tier", func(x *b) any { return x.Tier }},
			{"deadline", func(x *b) any { return x.Deadline }},
			{"retried by", func(x *b) any { return strings.Join(x.Retries, ", ") }},
			{"undo of", func(x *b) any { return x.UndoOf }},
			{"undone by", func(x *b) any { return x.UndoneBy }},
			{"schedule", func(x *b) any { return x.Schedule }},
			{"template", func(x *b) any { return templateOf(x) }},
			{"start at", func(x *b) any { return x.StartAt }},
			{"started", func(x *b) any { return x.StartedAt }},
			{"finished", func(x *b) any { return x.FinishedAt }},
			{"durability", func(x *b) any { return x.Durability }},
			{"lost work", func(x *b) any { return lossText(lossesOf(x.Losses)) }},
			{"note", func(x *b) any { return x.Note }},
		},
	}
}

// lossesOf are the losses of an answer in the words of a local report.
func lossesOf(list []api.Loss) (out []report.Loss) {
	for _, l := range list {
		x := report.Loss{Partition: l.Partition, Have: l.Have, Acked: l.Acked, FoundAt: l.FoundAt}
		if !l.AcceptedAt.IsZero() {
			x.AcceptedAt = &l.AcceptedAt
		}
		out = append(out, x)
	}
	return out
}

// lossText says what the store lost while a bulk action had not ended.
func lossText(losses []report.Loss) string {
	var all []string
	for _, l := range losses {
		text := fmt.Sprintf("partition %d, found %s", l.Partition, l.FoundAt.Format(time.RFC3339))
		if l.AcceptedAt == nil {
			all = append(all, text+": stopped")
			continue
		}
		all = append(all, text+", accepted "+l.AcceptedAt.Format(time.RFC3339)+": items may have run again, results may be missing")
	}
	return strings.Join(all, "; ")
}

// lastErrorText is why calls fail or, where they no longer do, why and when one failed last.
func lastErrorText(b *api.BulkAction) string {
	if b.LastError == nil {
		return ""
	}
	e := weir.LastError(*b.LastError)
	if !e.Failing {
		return "at " + people(e.Last) + ": " + errorLine(&e) + "; no call has failed since"
	}
	return errorLine(&e) + ", last " + people(e.Last)
}

// none returns nothing for a count of 0.
func none(n int64) any {
	if n == 0 {
		return ""
	}
	return n
}

// bulkView shows bulk actions. Nothing runs in a data directory that no other process uses.
func (l *link) bulkView() view[api.BulkAction] {
	v := bulkView()
	if l.local == nil {
		return v
	}
	at := slices.IndexFunc(v.columns, func(c column[api.BulkAction]) bool { return c.head == "state" })
	v.columns[at].value = func(x *api.BulkAction) any {
		if x.State == api.Running || x.State == api.Cancelling {
			return "interrupted"
		}
		return stateText(x)
	}
	return v
}

func stateText(b *api.BulkAction) string {
	if b.State == api.Running && b.Phase == "canary" {
		return "running (canary)"
	}
	return string(b.State)
}

func stepNames(steps []api.Step) (text string) {
	for i, s := range steps {
		if i > 0 {
			text += " → "
		}
		text += stepName(s)
	}
	return text
}

func stepName(s api.Step) string {
	if s.ID != "" {
		return s.ID
	}
	return s.Action
}

// listOptions are the filters of weir list at a server.
type listOptions struct {
	target target
	out    output
	filter client.Filter
	state  string
	limit  *int
}

func (o *listOptions) bind(fs *pflag.FlagSet) {
	grouped(fs, "Which", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.state, "state", "", "only bulk actions in this `STATE`, as in running")
		fs.StringVar(&o.filter.Tenant, "tenant", "", "only bulk actions of this `TENANT`")
		fs.StringVar(&o.filter.Name, "name", "", "only bulk actions with this `TEXT` in their name")
		fs.StringVar(&o.filter.Label, "label", "", "only bulk actions with this label, as `KEY=VALUE`")
		fs.StringVar(&o.filter.Template, "template", "", "only bulk actions created from the template `NAME`")
		o.limit = limitFlag(fs, 50)
	})
	o.out.bind(fs)
	o.target.bind(fs)
}

func (o *listOptions) run(ctx context.Context, l *link) error {
	o.filter.State = api.State(o.state)
	return list(l, l.bulkView(), l.List(ctx, o.filter), *o.limit)
}

func listCommand() command {
	return command{
		use: "list", short: "list bulk actions, the newest first",
		long: "Lists the bulk actions of a server, or the runs in a data directory, the newest first. " + elsewhere,
		example: `  weir list                                                  the runs in .weir
  weir list --server https://weir.example.com --state running`,
		args: between(0, 0, ""),
		bind: func(fs *pflag.FlagSet) runner {
			o := &listOptions{}
			o.bind(fs)
			return func(ctx context.Context, env *Env, _ []string) error { return o.target.ask(ctx, env, o.out, o.run) }
		},
	}
}

func getCommand() command {
	return command{
		use: "get ID", short: "show a bulk action", args: bulkID,
		bind: func(fs *pflag.FlagSet) runner {
			return anywhere(fs, func(ctx context.Context, l *link, args []string) error {
				b, err := l.Get(ctx, args[0])
				if err != nil {
					return err
				}
				if l.local != nil { // which rows became no items is known to the run alone
					if r, err := l.local.runs.get(b.ID); err == nil {
						b.Duplicates, b.BadLines = r.Duplicates, r.Invalid
					}
				}
				v := l.bulkView()
				if l.out == outTable {
					v.more = append(l.pace(ctx, &b), v.more...)
				}
				return one(l, v, b)
			})
		},
	}
}

// pace returns what people are shown of the progress of a bulk action.
func (l *link) pace(ctx context.Context, b *api.BulkAction) []column[api.BulkAction] {
	p, err := l.Progress(ctx, b.ID)
	if err != nil {
		l.say("cannot read the progress of its steps: %v", err) // all else is
		return nil
	}
	on, cut, calls := "", int64(0), []string(nil)
	if all := panelProgress(p).WaitingOn; len(all) > 0 && !b.State.Final() {
		on = withLate(all[0], all[1:])
	}
	for _, s := range p.Steps {
		cut += s.Cancelled
		if s.Calls > 0 {
			calls = append(calls, s.Step+" "+number(s.Calls))
		}
	}
	rows := []column[api.BulkAction]{
		{"waiting on", func(*api.BulkAction) any { return on }},
		{"ETA", func(*api.BulkAction) any { return p.ETA }},
		{"calls", func(*api.BulkAction) any { return strings.Join(calls, ", ") }},
	}
	if b.State == api.Completed && b.Reason == "deadline" {
		rows = append(rows, column[api.BulkAction]{"cancelled by deadline", func(*api.BulkAction) any { return cut }})
	}
	return rows
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

// verbCommand is a command that does one thing to a bulk action, and may wait for what comes of it.
func verbCommand(name, short, wait string, danger bool,
	do func(context.Context, *link, string, *verbOptions) (api.BulkAction, error), until func(context.Context, *link, string) error) command {
	return command{
		use: name + " ID", short: short, args: bulkID,
		bind: func(fs *pflag.FlagSet) runner {
			o := &verbOptions{}
			o.bind(fs, wait)
			if danger {
				fs.BoolVar(&o.yes, "yes", false, "do not ask for confirmation")
			}
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				b, err := do(ctx, l, args[0], o)
				if err != nil {
					return err
				}
				if !o.wait {
					return one(l, bulkView(), b)
				}
				ctx, cancel := within(ctx, time.Duration(o.timeout))
				defer cancel()
				return tooLong(ctx, until(ctx, l, b.ID))
			})
		},
	}
}

// tooLong returns err, or a failure if --timeout was reached.
func tooLong(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		return &failure{exitTimeout, errTooLong.Error() + "; the work continues on the server", ""}
	}
	return err
}

const waitForEnd = "wait until it ends; the exit code tells the outcome"

func startCommand() command {
	var at, zone string
	c := verbCommand("start", "start a bulk action, now or later", waitForEnd, false,
		func(ctx context.Context, l *link, id string, o *verbOptions) (api.BulkAction, error) {
			return l.Start(ctx, id, api.Start{StartAt: at, Zone: zone, Reason: o.reason})
		}, watchToEnd)
	bind := c.bind
	c.bind = func(fs *pflag.FlagSet) runner {
		fs.StringVar(&at, "start-at", "", "start `TIME`, as in 2030-01-31T18:00:00Z (default now)")
		fs.StringVar(&zone, "zone", "", "IANA `ZONE` of --start-at, as in Europe/Berlin")
		return bind(fs)
	}
	return c
}

func resumeCommand() command {
	return verbCommand("resume", "resume a paused or stopped bulk action", waitForEnd, false,
		func(ctx context.Context, l *link, id string, o *verbOptions) (api.BulkAction, error) {
			return l.Resume(ctx, id, o.reason)
		}, watchToEnd)
}

func approveCommand() command {
	return verbCommand("approve", "approve the canary and run the remaining items", waitForEnd, false,
		func(ctx context.Context, l *link, id string, o *verbOptions) (api.BulkAction, error) {
			return l.Approve(ctx, id, o.reason)
		}, watchToEnd)
}

func pauseCommand() command {
	return verbCommand("pause", "pause a bulk action; running tasks finish", "wait until no task of it is in flight", false,
		func(ctx context.Context, l *link, id string, o *verbOptions) (api.BulkAction, error) {
			return l.Pause(ctx, id, o.reason)
		}, atRest)
}

func cancelCommand() command {
	return verbCommand("cancel", "cancel a bulk action; running tasks finish", "wait until it has ended and no task is in flight", true,
		func(ctx context.Context, l *link, id string, o *verbOptions) (api.BulkAction, error) {
			if err := l.confirm(ctx, o.yes, "cancelling %s", id); err != nil {
				return api.BulkAction{}, err
			}
			return l.Cancel(ctx, id, o.reason)
		}, atRest)
}

// atRest waits until no task of a bulk action is in flight.
func atRest(ctx context.Context, l *link, id string) error {
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
	return one(l, bulkView(), b)
}

func watchCommand() command {
	return command{
		use: "watch ID", short: "show the progress of a bulk action until it ends",
		long: `Shows the progress of a bulk action, like weir run. The server does the work: Ctrl-C stops only the watching.
Without a terminal it prints one line every 10 seconds; -o json or ndjson prints every change as a line of JSON.

Exit codes: 0 all items are done · 5 ended, some items failed or were cancelled · 6 stopped by a rule, or the canary waits
for approval · 7 --timeout was reached · 130 interrupted; the work continues`,
		args: bulkID,
		bind: func(fs *pflag.FlagSet) runner {
			var timeout config.Span
			fs.Var(&timeout, "timeout", "stop watching after this time, as in 30m")
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				ctx, cancel := within(ctx, time.Duration(timeout))
				defer cancel()
				return tooLong(ctx, watchToEnd(ctx, l, args[0]))
			})
		},
	}
}
