package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/config"
)

func forecastCommand() command {
	return command{
		use: "forecast ID", short: "ask how a bulk action would go if it started",
		example: `  weir forecast ba_01k9x…
  weir forecast ba_01k9x… --rate send-message=450/s --start-at 2030-01-31T18:00:00Z`,
		args: between(1, 1, "ID"),
		bind: func(fs *pflag.FlagSet) runner {
			var req api.ForecastRequest
			fs.StringVar(&req.StartAt, "start-at", "", "`TIME` of the start (default now)")
			fs.StringVar(&req.Zone, "zone", "", "IANA `ZONE` of --start-at")
			rates := fs.StringArray("rate", nil, "`RESOURCE=RATE`: what if it had this rate?")
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				for _, text := range *rates {
					name, rate, _ := strings.Cut(text, "=")
					var r api.Rate
					if err := r.UnmarshalText([]byte(rate)); err != nil || name == "" {
						return badUsage("write it as in send-message=450/s", "--rate: %q is no resource and rate", text)
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
		fmt.Fprintln(l.env.Stdout, forecastLine(p, f))
		fmt.Fprintf(l.env.Stdout, "  %s     %s · %s · %s invalid\n", p.dim("items"), plural(f.Items, "item", "items"), plural(f.Duplicates, "duplicate", "duplicates"), number(f.Invalid))
		for _, c := range f.Clashes {
			fmt.Fprintf(l.env.Stdout, "  %s     %s: %s of other work, %.0f%% is left for this\n", p.dim("clash"), c.Resource, plural(c.Backlog, "item", "items"), c.Share*100)
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

// seq yields what is in a slice, as lists are yielded.
func seq[T any](all []T) func(func(T, error) bool) {
	return func(yield func(T, error) bool) {
		for _, x := range all {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// againOptions say which failed items of a server's bulk action are tried again.
type againOptions struct {
	remote  remote
	out     output
	again   api.Again
	wait    bool
	timeout config.Span
}

func (o *againOptions) bind(fs *pflag.FlagSet) {
	grouped(fs, "On a server", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.again.Code, "code", "", "only items with this error `CODE`")
		fs.StringVar(&o.again.Step, "step", "", "only items that failed at this `STEP`")
		fs.StringVar(&o.again.Filter, "filter", "", "only items for which this `EXPRESSION` is true, as in \"item.country == 'DE'\"")
		fs.BoolVar(&o.again.KeepKeys, "keep-keys", false, "use the idempotency keys of the first run again")
		fs.StringVar(&o.again.Reason, "reason", "", "`TEXT` for the audit log")
		fs.BoolVar(&o.wait, "wait", false, waitForEnd)
		fs.Var(&o.timeout, "timeout", "wait no longer than this, as in 30m")
	})
	o.out.bind(fs)
	o.remote.bind(fs)
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
		use: "undo ID", short: "take back what a bulk action has done, where its actions can", args: between(1, 1, "ID"),
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

// download writes the report of a server's bulk action: report.json and a file for each way to end.
func (l *link) download(ctx context.Context, id, dir, format string) error {
	r, err := l.Report(ctx, id)
	if err != nil {
		return err
	}
	if dir == "" {
		return printJSON(l.env, r)
	}
	at := l.env.path(dir)
	if err := probe(at); err != nil {
		return badUsage("choose another folder with -d", "-d: %v", err)
	}
	if format == "" {
		format = "csv"
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	for _, state := range []string{"done", "failed", "cancelled"} {
		name := state + "." + format
		if err := l.results(ctx, id, state, format, filepath.Join(at, name)); err != nil {
			return fmt.Errorf("%s: %w", shown(dir, name), err)
		}
		fmt.Fprintln(l.env.Stdout, shown(dir, name))
	}
	if err := replaceFile(filepath.Join(at, "report.json"), append(raw, '\n')); err != nil {
		return other(err, "")
	}
	fmt.Fprintln(l.env.Stdout, shown(dir, "report.json"))
	return nil
}

// results downloads to a file that is there when it is whole.
func (l *link) results(ctx context.Context, id, state, format, path string) error {
	from, err := l.Results(ctx, id, state, format)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error tells more
	}
	return err
}

// itemView shows items.
func itemView() view[api.ItemResult] {
	type i = api.ItemResult
	return view[i]{
		id: func(x *i) string { return x.ID },
		columns: []column[i]{
			{"id", func(x *i) any { return x.ID }},
			{"state", func(x *i) any { return x.State }},
			{"step", func(x *i) any { return x.Step }},
			{"code", func(x *i) any { return x.Code }},
			{"message", func(x *i) any { return x.Message + x.Reason }},
			{"attempts", func(x *i) any { return x.Attempts }},
			{"item", func(x *i) any { return x.Item }},
		},
	}
}

func itemsCommand() command {
	return command{
		use: "items ID", short: "list the items of a bulk action and what became of them", args: between(1, 1, "ID"),
		bind: func(fs *pflag.FlagSet) runner {
			var f client.ItemFilter
			fs.StringVar(&f.State, "state", "", "only those in this `STATE`: ready, waiting, done, failed or cancelled")
			fs.StringVar(&f.Step, "step", "", "only those that ended or stand at this `STEP`")
			fs.StringVar(&f.Code, "code", "", "only those with this error `CODE`")
			limit := limitFlag(fs, 100)
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				return list(l, itemView(), l.Items(ctx, args[0], f), *limit)
			})
		},
	}
}

func itemCommand() command {
	return command{
		use: "item ITEM-ID", short: "tell what happened to one of your ids, in all bulk actions",
		long: `Takes your own id of an item, or the name that weir gave it in one bulk action (itm_…), and tells what happened to
it: every bulk action, the newest first, and every step.`,
		example: `  weir item user-42
  weir item itm_01k9x2v6w4s8m1c7q3d5f9h0jz-41`,
		args: between(1, 1, "ITEM-ID"),
		bind: func(fs *pflag.FlagSet) runner {
			tenant := fs.String("tenant", "", "only bulk actions of this `TENANT`")
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				found := api.Found{ID: args[0]}
				var err error
				if strings.HasPrefix(args[0], "itm_") {
					var one api.ItemResult
					one, err = l.Item(ctx, args[0])
					found.ID, found.History = one.ID, []api.ItemResult{one}
				} else {
					found, err = l.Lookup(ctx, api.Lookup{ID: args[0], Tenant: *tenant})
				}
				if err != nil {
					return err
				}
				return l.timeline(&found)
			})
		},
	}
}

// timeline shows what happened to an item.
func (l *link) timeline(f *api.Found) error {
	switch {
	case l.out == outJSON:
		return printJSON(l.env, f)
	case l.out != outTable:
		return list(l, itemView(), seq(f.History), 0)
	case len(f.History) == 0:
		return &failure{exitOther, fmt.Sprintf("no bulk action has an item %q", f.ID), "check the id; those of bulk actions that were removed are gone with them"}
	}
	p, _ := outward(l.env)
	for _, x := range f.History {
		name := strings.TrimSpace(x.Name + " " + p.dim(x.BulkAction))
		fmt.Fprintf(l.env.Stdout, "%s  %s  %s\n", p.bold(x.ID), name, itemState(p, &x))
		for _, e := range x.History {
			fmt.Fprintln(l.env.Stdout, strings.TrimRight("  "+eventText(p, &e), " "))
		}
	}
	return nil
}

func itemState(p paint, x *api.ItemResult) string {
	switch x.State {
	case "done":
		return p.green(x.State)
	case "failed":
		return p.red(x.State)
	case "cancelled":
		return strings.TrimSuffix(p.yellow("left out: "+x.Reason), ": ")
	}
	return x.State
}

func eventText(p paint, e *api.ItemEvent) string {
	parts := []string{pad(people(e.At), 20), pad(e.Step, 16), pad(strings.ReplaceAll(e.Result, "_", " "), 8)}
	if e.Attempts > 0 {
		parts = append(parts, plural(int64(e.Attempts), "attempt", "attempts"))
	}
	if e.Code != "" {
		parts = append(parts, p.red(e.Code), e.Message)
	}
	if len(e.Output) > 0 {
		parts = append(parts, p.dim(fit(string(e.Output), 60)))
	}
	return strings.Join(parts, "  ")
}

func errorsCommand() command {
	return command{
		use: "errors ID", short: "tell why items of a bulk action failed, the largest group first", args: between(1, 1, "ID"),
		bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				groups, err := l.ErrorGroups(ctx, args[0])
				if err != nil {
					return err
				}
				return list(l, groupView(), seq(groups), 0)
			})
		},
	}
}

func groupView() view[api.ErrorGroup] {
	type g = api.ErrorGroup
	return view[g]{
		id: func(x *g) string { return x.Code },
		columns: []column[g]{
			{"count", func(x *g) any { return x.Count }},
			{"step", func(x *g) any { return x.Step }},
			{"code", func(x *g) any { return x.Code }},
			{"message", func(x *g) any { return x.Message }},
			{"sample", func(x *g) any { return x.Sample }},
		},
	}
}
