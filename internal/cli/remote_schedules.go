package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
)

func scheduleView() view[api.Schedule] {
	type s = api.Schedule
	return view[s]{
		plural: "schedules",
		id:     func(x *s) string { return x.ID },
		columns: []column[s]{
			{"id", func(x *s) any { return x.ID }},
			{"name", func(x *s) any { return x.Name }},
			{"tenant", func(x *s) any { return x.Tenant }},
			{"when", func(x *s) any { return cmp.Or(x.Cron, x.At) }},
			{"zone", func(x *s) any { return cmp.Or(x.Zone, "UTC") }},
			{"paused", func(x *s) any { return x.Paused }},
			{"next", func(x *s) any { return first(x.Next) }},
		},
		more: []column[s]{
			{"overlap", func(x *s) any { return x.Overlap }},
			{"catch up", func(x *s) any { return x.CatchUp }},
			{"until", func(x *s) any { return x.Until }},
			{"does", func(x *s) any { return whatFor(&x.BulkAction) }},
			{"last", func(x *s) any { return lastFire(x.History) }},
			{"note", func(x *s) any { return x.Note }},
			{"created", func(x *s) any { return x.CreatedAt }},
		},
	}
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
	text := people(f.Slot) + " " + f.Result
	if f.BulkAction+f.Reason != "" {
		text += ": " + cmp.Or(f.BulkAction, f.Reason)
	}
	return text
}

func schedulesCommand() command {
	return command{use: "schedules",
		short: "manage schedules of bulk actions: list, get, create, pause, resume, next, backfill, delete", subs: []command{
			{use: "list", short: "list the schedules", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
				return online(fs, func(ctx context.Context, l *link, _ []string) error {
					return list(l, scheduleView(), l.Schedules(ctx), 0)
				})
			}},
			scheduleVerb("get ID", "show a schedule, its next time and its last result",
				func(ctx context.Context, l *link, id, _ string) (api.Schedule, error) {
					return l.Schedule(ctx, id)
				}),
			{use: "create -f FILE", short: "create a schedule", args: between(0, 0, ""),
				example: `  weir schedules create -f monday.yaml`, bind: bindScheduleCreate},
			scheduleVerb("pause ID", "pause a schedule", func(ctx context.Context, l *link, id, reason string) (api.Schedule, error) {
				return l.PauseSchedule(ctx, id, reason)
			}),
			scheduleVerb("resume ID", "resume a schedule from now on", func(ctx context.Context, l *link, id, reason string) (api.Schedule, error) {
				return l.ResumeSchedule(ctx, id, reason)
			}),
			{use: "next ID", short: "list the next times of a schedule", args: between(1, 1, "ID"), bind: func(fs *pflag.FlagSet) runner {
				n := fs.Int("count", 5, "number of times, `N`")
				return online(fs, func(ctx context.Context, l *link, args []string) error {
					times, err := l.NextTimes(ctx, args[0], *n)
					return l.times(times, err)
				})
			}},
			{use: "backfill ID", short: "create the bulk actions of past times", args: between(1, 1, "ID"),
				example: `  weir schedules backfill sch_01k9x… --from 2030-01-01T00:00:00Z --to 2030-01-08T00:00:00Z`, bind: bindBackfill},
			removing("delete ID", "delete a schedule; its bulk actions stay", "the schedule",
				func(ctx context.Context, l *link, id string) error { return l.DeleteSchedule(ctx, id) }),
		}}
}

func scheduleVerb(use, short string, do func(ctx context.Context, l *link, id, reason string) (api.Schedule, error)) command {
	return command{use: use, short: short, args: between(1, 1, "ID"), bind: func(fs *pflag.FlagSet) runner {
		reason := ""
		if use != "get ID" {
			fs.StringVar(&reason, "reason", "", "`TEXT` for the audit log")
		}
		return online(fs, func(ctx context.Context, l *link, args []string) error {
			s, err := do(ctx, l, args[0], reason)
			if err != nil {
				return err
			}
			return one(l, scheduleView(), s)
		})
	}}
}

func bindScheduleCreate(fs *pflag.FlagSet) runner {
	file := fileFlag(fs)
	return online(fs, func(ctx context.Context, l *link, _ []string) error {
		all, err := readAll[api.Schedule](l.env, *file)
		if err != nil {
			return err
		}
		made := make([]api.Schedule, 0, len(all))
		for i := range all {
			s, err := l.CreateSchedule(ctx, all[i])
			if err != nil {
				return appliedBefore(atEntry(err, *file, i, len(all), all[i].Name), i)
			}
			made = append(made, s)
		}
		if len(made) == 1 {
			return one(l, scheduleView(), made[0])
		}
		return list(l, scheduleView(), seq(made), 0)
	})
}

func bindBackfill(fs *pflag.FlagSet) runner {
	from := fs.String("from", "", "first `TIME`, as in 2030-01-01T00:00:00Z or 72h (ago)")
	to := fs.String("to", "", "last `TIME` (default now)")
	reason := fs.String("reason", "", "`TEXT` for the audit log")
	return online(fs, func(ctx context.Context, l *link, args []string) error {
		b := api.Backfill{To: time.Now().UTC(), Reason: *reason}
		var err error
		if b.From, err = ago("--from", *from); err != nil {
			return err
		}
		if b.From.IsZero() {
			return badUsage("add the first time, as in --from 72h", "--from is missing")
		}
		if *to != "" {
			if b.To, err = ago("--to", *to); err != nil {
				return err
			}
		}
		times, err := l.Backfill(ctx, args[0], b)
		return l.times(times, err)
	})
}

// times writes moments.
func (l *link) times(all []time.Time, err error) error {
	if err != nil {
		return err
	}
	if l.out == outJSON {
		return printJSON(l.env, api.ScheduleTimes{Times: append([]time.Time{}, all...)})
	}
	return list(l, view[time.Time]{id: func(t *time.Time) string { return t.UTC().Format(time.RFC3339) }, columns: []column[time.Time]{
		{"time", func(t *time.Time) any { return *t }},
	}}, seq(all), 0)
}
