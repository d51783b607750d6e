package manage

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/watch"
)

var schedules = kind[api.Schedule]{
	noun: "schedule", arg: "ID", of: (*client.Client).Schedules, name: func(x *api.Schedule) string { return x.Name },
	view: command.NewView("schedules", "id", "id, name, tenant, when, zone, paused, next",
		"overlap, catch up, until, does, last, note, created=created_at", command.Texts[api.Schedule]{
			"when": func(x *api.Schedule) any { return cmp.Or(x.Cron, x.At) },
			"zone": func(x *api.Schedule) any { return cmp.Or(x.Zone, "UTC") },
			"next": func(x *api.Schedule) any { return first(x.Next) },
			"does": func(x *api.Schedule) any { return watch.WhatFor(&x.BulkAction) },
			"last": func(x *api.Schedule) any { return lastFire(x.History) },
		}),
}

func first(times []time.Time) time.Time {
	if len(times) == 0 {
		return time.Time{}
	}
	return times[0]
}

func lastFire(all []api.ScheduledFire) string {
	if len(all) == 0 {
		return ""
	}
	f := all[0]
	text := command.People(f.Slot) + " " + f.Result
	if f.BulkAction+f.Reason != "" {
		text += ": " + cmp.Or(f.BulkAction, f.Reason)
	}
	return text
}

func schedulesCommand() command.Command {
	return command.Command{Use: "schedules",
		Short: "manage schedules of bulk actions: list, get, create, pause, resume, next, times, backfill, delete",
		Subs: []command.Command{
			schedules.list("list the schedules", ""), schedules.get("show a schedule, its next time and its last result"),
			schedules.create("create a schedule", `  weir schedules create -f monday.yaml`),
			scheduleVerb("pause", "pause a schedule", (*client.Client).PauseSchedule),
			scheduleVerb("resume", "resume a schedule from now on", (*client.Client).ResumeSchedule),
			{Use: "next ID", Short: "list the next times of a schedule", Args: command.Args(1, 1, "ID"),
				Bind: func(fs *pflag.FlagSet) command.Runner {
					n := fs.Int("count", 5, "number of times, `N`")
					return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
						times, err := l.NextTimes(ctx, args[0], *n)
						return showTimes(l, times, err)
					})
				}},
			{Use: "times CRON", Short: "list the times of a cron rule, without a schedule", Args: command.Args(1, 1, "CRON"),
				Example: `  weir schedules times "0 9 * * 1" --zone Asia/Tokyo`,
				Bind: func(fs *pflag.FlagSet) command.Runner {
					zone := fs.String("zone", "UTC", "time `ZONE` of the rule")
					n := fs.Int("count", 5, "number of times, `N`")
					return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
						times, err := l.Times(ctx, client.Times{Cron: args[0], Zone: *zone, N: *n})
						return showTimes(l, times, err)
					})
				}},
			{Use: "backfill ID", Short: "create the bulk actions of past times", Args: command.Args(1, 1, "ID"),
				Example: `  weir schedules backfill sch_01k9x… --from 2030-01-01T00:00:00Z --to 2030-01-08T00:00:00Z`, Bind: bindBackfill},
			schedules.delete("delete a schedule; its bulk actions stay"),
		}}
}

// scheduleVerb is a command that changes a schedule, with a reason for the audit log.
func scheduleVerb(name, short string, do func(*client.Client, context.Context, string, string) (api.Schedule,
	error)) command.Command {
	reason := ""
	c := schedules.verb(name, short, func(ctx context.Context, l *link.Link, id string) (api.Schedule, error) {
		return do(l.Client, ctx, id, reason)
	})
	bind := c.Bind
	c.Bind = func(fs *pflag.FlagSet) command.Runner {
		fs.StringVar(&reason, "reason", "", "`TEXT` for the audit log")
		return bind(fs)
	}
	return c
}

func bindBackfill(fs *pflag.FlagSet) command.Runner {
	from := fs.String("from", "", "first `TIME`, as in 2030-01-01T00:00:00Z or 72h (ago)")
	to := fs.String("to", "", "last `TIME` (default now)")
	reason := fs.String("reason", "", "`TEXT` for the audit log")
	return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
		b := api.Backfill{To: time.Now().UTC(), Reason: *reason}
		var err error
		if b.From, err = command.Ago("--from", *from); err != nil {
			return err
		}
		if b.From.IsZero() {
			return command.BadUsage("add the first time, as in --from 72h", "--from is missing")
		}
		if *to != "" {
			if b.To, err = command.Ago("--to", *to); err != nil {
				return err
			}
		}
		times, err := l.Backfill(ctx, args[0], b)
		return showTimes(l, times, err)
	})
}

// showTimes prints moments.
func showTimes(l *link.Link, all []time.Time, err error) error {
	if err != nil {
		return err
	}
	if l.Out == command.JSON {
		return command.PrintJSON(l.Env, api.ScheduleTimes{Times: append([]time.Time{}, all...)})
	}
	return command.List(l.Printer, command.View[time.Time]{ID: func(t *time.Time) string { return t.UTC().Format(time.RFC3339) },
		Columns: []command.Column[time.Time]{
			{Head: "time", Value: func(t *time.Time) any { return *t }},
		}}, command.Seq(all), 0)
}
