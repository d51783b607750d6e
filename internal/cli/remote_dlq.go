package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/config"
)

// dlqFilter are the flags that say which failed items are meant.
type dlqFilter struct {
	api.DLQFilter
	since string
}

func (f *dlqFilter) bind(fs *pflag.FlagSet, expressions bool) {
	grouped(fs, "Which", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.BulkAction, "bulk-action", "", "only items of the bulk action `ID`")
		fs.StringVar(&f.Tenant, "tenant", "", "only items of this `TENANT`")
		fs.StringVar(&f.Action, "action", "", "only items that failed in the action `NAME`")
		fs.StringVar(&f.Step, "step", "", "only items that failed at this `STEP`")
		fs.StringVar(&f.Code, "code", "", "only items with this error `CODE`")
		fs.StringVar(&f.Message, "message", "", "only items of the error group with this `TEXT`")
		fs.StringVar(&f.since, "since", "", "only items of bulk actions submitted since this `TIME`, as in 24h or 2030-01-31T18:00:00Z")
		if expressions {
			fs.StringVar(&f.Expression, "filter", "", "only items for which this `EXPRESSION` is true, as in \"item.country == 'DE'\"")
		}
	})
}

// chosen is filter for what changes items: without any flag that chooses, --all has to be given.
func (f *dlqFilter) chosen(all bool, verb string) (api.DLQFilter, error) {
	want, err := f.filter()
	if err == nil && want == (api.DLQFilter{}) && !all {
		err = badUsage("choose with --bulk-action, --tenant, --action, --step, --code, --message, --since or --filter, or add --all", "without a filter, every failed item would be %s", verb)
	}
	return want, err
}

// filter reads what is left to be read.
func (f *dlqFilter) filter() (api.DLQFilter, error) {
	at, err := ago("--since", f.since)
	f.Since = at
	return f.DLQFilter, err
}

// ago reads a moment: a time, or how long ago it was.
func ago(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, badUsage("write it as in 24h or 2030-01-31T18:00:00Z", "%s: %q is neither a duration nor a time", flag, text)
	}
	return time.Now().Add(-d).UTC(), nil
}

func dlqCommand() command {
	return command{use: "dlq", short: "manage failed items that were not retried or discarded: groups, list, retry, discard", subs: []command{
		{use: "groups", short: "group failed items by error, the largest group first", args: between(0, 0, ""), bind: bindDLQGroups},
		{use: "list", short: "list failed items, the newest bulk action first", args: between(0, 0, ""), bind: bindDLQList},
		{use: "retry", short: "retry failed items, as new bulk actions", args: between(0, 0, ""),
			example: `  weir dlq retry --action award-reward --code wallet_rejected --rate 50/s`, bind: bindDLQRetry},
		{use: "discard", short: "discard failed items; reports keep them", args: between(0, 0, ""),
			example: `  weir dlq discard --code closed --reason 'accounts are gone' --yes`, bind: bindDLQDiscard},
	}}
}

func bindDLQGroups(fs *pflag.FlagSet) runner {
	f := &dlqFilter{}
	f.bind(fs, false)
	type g = api.DLQGroup
	v := view[g]{plural: "error groups", id: func(x *g) string { return x.Code }, columns: []column[g]{
		{"count", func(x *g) any { return x.Count }},
		{"action", func(x *g) any { return x.Action }},
		{"step", func(x *g) any { return x.Step }},
		{"code", func(x *g) any { return x.Code }},
		{"message", func(x *g) any { return x.Message }},
		{"bulk actions", func(x *g) any { return x.BulkActions }},
		{"tenant", func(x *g) any { return x.Tenant }},
	}}
	return online(fs, func(ctx context.Context, l *link, _ []string) error {
		want, err := f.filter()
		if err != nil {
			return err
		}
		all, err := l.DLQGroups(ctx, want)
		if err != nil {
			return err
		}
		return list(l, v, seq(all), 0)
	})
}

func bindDLQList(fs *pflag.FlagSet) runner {
	f := &dlqFilter{}
	f.bind(fs, false)
	limit := limitFlag(fs, 100)
	return online(fs, func(ctx context.Context, l *link, _ []string) error {
		want, err := f.filter()
		if err != nil {
			return err
		}
		return list(l, itemView(), l.DLQ(ctx, want), *limit)
	})
}

func bindDLQRetry(fs *pflag.FlagSet) runner {
	f, r := &dlqFilter{}, api.DLQRetry{}
	f.bind(fs, true)
	var rate config.Rate
	var timeout config.Span
	fs.Var(&rate, "rate", "maximum items per second, as in 50/s")
	fs.BoolVar(&r.NewKeys, "new-keys", false, newKeysHelp)
	fs.BoolVar(&r.All, "all", false, "select every failed item")
	fs.StringVar(&r.Reason, "reason", "", "`TEXT` for the audit log")
	wait := fs.Bool("wait", false, waitForEnd)
	fs.Var(&timeout, "timeout", "stop waiting after this time, as in 30m")
	return online(fs, func(ctx context.Context, l *link, _ []string) error {
		want, err := f.chosen(r.All, "retried")
		if err != nil {
			return err
		}
		r.Filter, r.Rate = want, api.Rate(rate)
		made, err := l.DLQRetry(ctx, r)
		if err != nil {
			return err
		}
		return l.linked(ctx, made, *wait, timeout)
	})
}

func bindDLQDiscard(fs *pflag.FlagSet) runner {
	f, d := &dlqFilter{}, api.DLQDiscard{}
	f.bind(fs, true)
	fs.BoolVar(&d.All, "all", false, "select every failed item")
	fs.StringVar(&d.Reason, "reason", "", "`TEXT` for the audit log")
	yes := yesFlag(fs)
	return online(fs, func(ctx context.Context, l *link, _ []string) error {
		want, err := f.chosen(d.All, "discarded")
		if err != nil {
			return err
		}
		if d.Reason == "" {
			return badUsage("add why, as in --reason 'accounts are gone'", "--reason is missing")
		}
		if err := l.confirm(ctx, *yes, "discarding failed items"); err != nil {
			return err
		}
		d.Filter = want
		out, err := l.DLQDiscard(ctx, d)
		if err != nil {
			return err
		}
		if l.out != outTable {
			return one(l, view[api.Discarded]{id: func(x *api.Discarded) string { return fmt.Sprint(x.Items) }, columns: []column[api.Discarded]{
				{"items", func(x *api.Discarded) any { return x.Items }},
			}}, out)
		}
		l.say("%s discarded", plural(out.Items, "item", "items"))
		return nil
	})
}
