package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/config"
)

func forecastCommand() command {
	return command{
		use: "forecast ID", short: "forecast when a bulk action would finish if it started",
		example: `  weir forecast ba_01k9x…
  weir forecast ba_01k9x… --rate send-message=450/s --start-at 2030-01-31T18:00:00Z`,
		args: between(1, 1, "ID"),
		bind: func(fs *pflag.FlagSet) runner {
			var req api.ForecastRequest
			fs.StringVar(&req.StartAt, "start-at", "", "`TIME` of the start (default now)")
			fs.StringVar(&req.Zone, "zone", "", "IANA `ZONE` of --start-at")
			rates := fs.StringArray("rate", nil, "`RESOURCE=RATE` to assume for a resource, as in send-message=450/s")
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				for _, text := range *rates {
					name, rate, _ := strings.Cut(text, "=")
					var r api.Rate
					if err := r.UnmarshalText([]byte(rate)); err != nil || name == "" {
						return badUsage("write it as in send-message=450/s", "--rate: %q is not a resource and rate", text)
					}
					if req.Rates == nil {
						req.Rates = map[string]api.Rate{}
					}
					req.Rates[name] = r
				}
				f, err := l.Forecast(ctx, args[0], req)
				if err != nil {
					return err
				}
				return l.showForecast(&f)
			})
		},
	}
}

func (l *link) showForecast(f *api.Forecast) error {
	if l.out == outTable {
		p, _ := outward(l.env)
		if !f.EndedAt.IsZero() {
			_, err := fmt.Fprintf(l.env.Stdout, "  %s  %s\n", p.dim("forecast"), strings.Join(f.Assumptions, " "))
			return err
		}
		fmt.Fprintln(l.env.Stdout, forecastLine(p, f))
		fmt.Fprintf(l.env.Stdout, "  %s     %s · %s · %s invalid\n", p.dim("items"), plural(f.Items, "item", "items"),
			plural(f.Duplicates, "duplicate", "duplicates"), number(f.Invalid))
		for _, c := range f.Clashes {
			fmt.Fprintf(l.env.Stdout, "  %s     %s: %s of other work, %.0f%% is left for this\n", p.dim("clash"), c.Resource,
				plural(c.Backlog, "item", "items"), c.Share*100)
		}
		for _, a := range f.Assumptions {
			fmt.Fprintf(l.env.Stdout, "  %s   %s\n", p.dim("assumed"), a)
		}
	}
	type s = api.ForecastStep
	v := view[s]{id: func(x *s) string { return x.Step }, columns: []column[s]{
		{"step", func(x *s) any { return x.Step }},
		{"action", func(x *s) any { return x.Action }},
		{"items", func(x *s) any { return x.Items }},
		{"calls", func(x *s) any { return x.Calls }},
		{"takes", func(x *s) any { return x.Takes }},
	}}
	if l.out == outJSON || l.out == outNDJSON {
		return one(l, view[api.Forecast]{}, *f)
	}
	return list(l, v, seq(f.Steps), 0)
}

// againOptions say which items of a server's bulk action are tried again.
type againOptions struct {
	target  target
	out     output
	again   api.Again
	wait    bool
	timeout config.Span
}

func (o *againOptions) bind(fs *pflag.FlagSet) {
	grouped(fs, "Which items", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.again.State, "state", "", "retry items that ended in this `STATE`: failed or cancelled (default failed)")
		fs.BoolVar(&o.again.NewKeys, "new-keys", false, newKeysHelp)
		fs.StringVar(&o.again.Code, "code", "", "only items with this error `CODE`")
		fs.StringVar(&o.again.Step, "step", "", "only items that ended at this `STEP`")
		fs.StringVar(&o.again.Filter, "filter", "", "only items for which this `EXPRESSION` is true, as in \"item.country == 'DE'\"")
		fs.StringVar(&o.again.Reason, "reason", "", "`TEXT` for the audit log")
	})
	grouped(fs, "On a server", func(fs *pflag.FlagSet) {
		fs.BoolVar(&o.wait, "wait", false, waitForEnd)
		fs.Var(&o.timeout, "timeout", "stop waiting after this time, as in 30m")
		o.out.bind(fs)
	})
	o.target.bind(fs)
}

func (o *againOptions) run(ctx context.Context, l *link, id string) error {
	made, err := l.Retry(ctx, id, o.again)
	if err != nil {
		return err
	}
	return l.linked(ctx, made, o.wait, o.timeout)
}

// linked tells what was made of other bulk actions, and waits for its end.
func (l *link) linked(ctx context.Context, made api.Linked, wait bool, timeout config.Span) error {
	if made.Skipped > 0 {
		l.say("%s left out: their bulk actions still run", plural(made.Skipped, "item", "items"))
	}
	if !wait {
		if l.out == outJSON {
			return printJSON(l.env, made)
		}
		l.say("%s in %s", plural(made.Items, "item", "items"), plural(int64(len(made.BulkActions)), "bulk action", "bulk actions"))
		return list(l, bulkView(), seq(made.BulkActions), 0)
	}
	ctx, cancel := within(ctx, time.Duration(timeout))
	defer cancel()
	code := exitOK
	for _, b := range made.BulkActions {
		err := tooLong(ctx, watchToEnd(ctx, l, b.ID))
		f, ok := errors.AsType[*failure](err)
		if err != nil && (!ok || f.code != exitSomeFailed && f.code != exitStopped) {
			return err
		}
		if ok {
			code = max(code, f.code)
		}
	}
	return ended(code)
}

func undoCommand() command {
	return command{
		use: "undo ID", short: "undo the done items of a bulk action, where its actions support it", args: bulkID,
		bind: func(fs *pflag.FlagSet) runner {
			o := &verbOptions{}
			o.bind(fs, waitForEnd)
			yes := yesFlag(fs)
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				if err := l.confirm(ctx, *yes, "undoing %s", args[0]); err != nil {
					return err
				}
				made, err := l.Undo(ctx, args[0], o.reason)
				if err != nil {
					return err
				}
				return l.linked(ctx, made, o.wait, o.timeout)
			})
		},
	}
}
