package bulk

import (
	"context"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
)

// dlqFilter are the flags that say which failed items are meant.
type dlqFilter struct {
	api.DLQFilter
	since string
}

func (f *dlqFilter) bind(fs *pflag.FlagSet, expressions bool) {
	command.Grouped(fs, "Which", func(fs *pflag.FlagSet) {
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
		err = command.BadUsage("choose with --bulk-action, --tenant, --action, --step, --code, --message, --since or "+
			"--filter, or add --all", "without a filter, every failed item would be %s", verb)
	}
	return want, err
}

// filter reads what is left to be read.
func (f *dlqFilter) filter() (api.DLQFilter, error) {
	at, err := command.Ago("--since", f.since)
	f.Since = at
	return f.DLQFilter, err
}

func dlqCommand() command.Command {
	return command.Command{Use: "dlq", Short: "manage failed items that were not retried or discarded: groups, list, retry, discard",
		Subs: []command.Command{
			{Use: "groups", Short: "group failed items by error, the largest group first", Args: command.Args(0, 0, ""),
				Bind: bindDLQGroups},
			{Use: "list", Short: "list failed items, the newest bulk action first", Args: command.Args(0, 0, ""), Bind: bindDLQList},
			{Use: "retry", Short: "retry failed items, as new bulk actions", Args: command.Args(0, 0, ""),
				Example: `  weir dlq retry --action award-reward --code wallet_rejected --rate 50/s`, Bind: bindDLQRetry},
			{Use: "discard", Short: "discard failed items; reports keep them", Args: command.Args(0, 0, ""),
				Example: `  weir dlq discard --code closed --reason 'accounts are gone' --yes`, Bind: bindDLQDiscard},
		}}
}

// mostGroups is the most that a server lists.
const mostGroups = 10_000

func bindDLQGroups(fs *pflag.FlagSet) command.Runner {
	f := &dlqFilter{}
	f.bind(fs, false)
	limit := command.LimitFlag(fs, 100)
	v := command.NewView[api.DLQGroup]("error groups", "code", "count, action, step, code, message, bulk actions, tenant", "", nil)
	return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
		want, err := f.filter()
		if err != nil {
			return err
		}
		ask := *limit + 1 // one more shows that there are more
		if *limit == 0 || ask > mostGroups {
			ask = mostGroups
		}
		all, err := l.DLQGroups(ctx, want, ask)
		if err != nil {
			return err
		}
		return command.List(l.Printer, v, command.Seq(all.Data), *limit)
	})
}

func bindDLQList(fs *pflag.FlagSet) command.Runner {
	f := &dlqFilter{}
	f.bind(fs, false)
	limit := command.LimitFlag(fs, 100)
	return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
		want, err := f.filter()
		if err != nil {
			return err
		}
		return command.List(l.Printer, watch.ItemView, l.DLQ(ctx, want), *limit)
	})
}

func bindDLQRetry(fs *pflag.FlagSet) command.Runner {
	f, r := &dlqFilter{}, api.DLQRetry{}
	f.bind(fs, true)
	var rate config.Rate
	var timeout config.Span
	fs.Var(&rate, "rate", "maximum items per second, as in 50/s")
	fs.BoolVar(&r.NewKeys, "new-keys", false, spec.NewKeysHelp)
	fs.BoolVar(&r.All, "all", false, "select every failed item")
	fs.StringVar(&r.Reason, "reason", "", "`TEXT` for the audit log")
	wait := fs.Bool("wait", false, watch.WaitForEnd)
	fs.Var(&timeout, "timeout", "stop waiting after this time, as in 30m")
	return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
		want, err := f.chosen(r.All, "retried")
		if err != nil {
			return err
		}
		r.Filter, r.Rate = want, api.Rate(rate)
		made, err := l.DLQRetry(ctx, r)
		if err != nil {
			return err
		}
		return watch.Linked(ctx, l, made, *wait, timeout)
	})
}

func bindDLQDiscard(fs *pflag.FlagSet) command.Runner {
	f, d := &dlqFilter{}, api.DLQDiscard{}
	f.bind(fs, true)
	fs.BoolVar(&d.All, "all", false, "select every failed item")
	fs.StringVar(&d.Reason, "reason", "", "`TEXT` for the audit log")
	yes := command.YesFlag(fs)
	return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
		want, err := f.chosen(d.All, "discarded")
		if err != nil {
			return err
		}
		if d.Reason == "" {
			return command.BadUsage("add why, as in --reason 'accounts are gone'", "--reason is missing")
		}
		if err := l.Env.Confirm(ctx, *yes, "discarding failed items"); err != nil {
			return err
		}
		d.Filter = want
		out, err := l.DLQDiscard(ctx, d)
		if err != nil {
			return err
		}
		if l.Out != command.Table {
			return command.One(l.Printer, command.NewView[api.Discarded]("", "items", "items", "", nil), out)
		}
		l.Say("%s discarded", term.Plural(out.Items, "item", "items"))
		return nil
	})
}
