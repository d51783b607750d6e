package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// itemView shows items.
func itemView() view[api.ItemResult] {
	type i = api.ItemResult
	return view[i]{
		plural: "items",
		id:     func(x *i) string { return x.ID },
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
		use: "items ID", short: "list the items of a bulk action and their results", args: bulkID,
		bind: func(fs *pflag.FlagSet) runner {
			var f client.ItemFilter
			fs.StringVar(&f.State, "state", "", "only items in this `STATE`: ready, waiting, done, failed or cancelled")
			fs.StringVar(&f.Step, "step", "", "only items that ended or are at this `STEP`")
			fs.StringVar(&f.Code, "code", "", "only items with this error `CODE`")
			limit := limitFlag(fs, 100)
			return anywhere(fs, func(ctx context.Context, l *link, args []string) error {
				return list(l, itemView(), l.Items(ctx, args[0], f), *limit)
			})
		},
	}
}

func itemCommand() command {
	return command{
		use: "item ITEM-ID", short: "show the history of an item in all bulk actions",
		long: `Shows the history of an item: every bulk action, the newest first, and every step. ITEM-ID is your own id of the item,
or the id that weir gave it in one bulk action (itm_…).`,
		example: `  weir item user-42
  weir item itm_01k9x2v6w4s8m1c7q3d5f9h0jz-41`,
		args: between(1, 1, "ITEM-ID"),
		bind: func(fs *pflag.FlagSet) runner {
			tenant := fs.String("tenant", "", "only bulk actions of this `TENANT`")
			return anywhere(fs, func(ctx context.Context, l *link, args []string) error {
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
		return &failure{exitOther, fmt.Sprintf("no bulk action has an item %q", f.ID),
			"check the id; items of deleted bulk actions are not found"}
	}
	p, _ := outward(l.env)
	for _, x := range f.History {
		name := strings.TrimSpace(x.Name + " " + p.dim(x.BulkAction))
		fmt.Fprintln(l.env.Stdout, p.tame(p.bold(x.ID)+"  "+name+"  "+itemState(p, &x)))
		for _, e := range x.History {
			fmt.Fprintln(l.env.Stdout, p.tame(strings.TrimRight("  "+eventText(p, &e), " ")))
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
		return strings.TrimSuffix(p.yellow(x.State+": "+x.Reason), ": ")
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
		use: "errors ID", short: "group the failed items of a bulk action by error, the largest group first", args: bulkID,
		bind: func(fs *pflag.FlagSet) runner {
			return anywhere(fs, func(ctx context.Context, l *link, args []string) error {
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
		plural: "error groups",
		id:     func(x *g) string { return x.Code },
		columns: []column[g]{
			{"count", func(x *g) any { return x.Count }},
			{"step", func(x *g) any { return x.Step }},
			{"code", func(x *g) any { return x.Code }},
			{"message", func(x *g) any { return x.Message }},
			{"sample", func(x *g) any { return x.Sample }},
		},
	}
}
