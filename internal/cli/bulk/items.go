package bulk

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
)

func itemsCommand() command.Command {
	return command.Command{
		Use: "items ID", Short: "list the items of a bulk action and their results", Args: command.BulkID,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			var f client.ItemFilter
			fs.StringVar(&f.State, "state", "", "only items in this `STATE`: ready, waiting, done, failed or cancelled")
			fs.StringVar(&f.Step, "step", "", "only items that ended or are at this `STEP`")
			fs.StringVar(&f.Code, "code", "", "only items with this error `CODE`")
			limit := command.LimitFlag(fs, 100)
			return link.Anywhere(fs, func(ctx context.Context, l *link.Link, args []string) error {
				return command.List(l.Printer, watch.ItemView, l.Items(ctx, args[0], f), *limit)
			})
		},
	}
}

func itemCommand() command.Command {
	return command.Command{
		Use: "item ITEM-ID", Short: "show the history of an item in all bulk actions",
		Long: `Shows the history of an item: every bulk action, the newest first, and every step. ITEM-ID is your own id of the item,
or the id that weir gave it in one bulk action (itm_…).`,
		Example: `  weir item user-42
  weir item itm_01k9x2v6w4s8m1c7q3d5f9h0jz-41`,
		Args: command.Args(1, 1, "ITEM-ID"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			tenant := fs.String("tenant", "", "only bulk actions of this `TENANT`")
			return link.Anywhere(fs, func(ctx context.Context, l *link.Link, args []string) error {
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
				return timeline(l, &found)
			})
		},
	}
}

// timeline shows what happened to an item.
func timeline(l *link.Link, f *api.Found) error {
	switch {
	case l.Out == command.JSON:
		return command.PrintJSON(l.Env, f)
	case l.Out != command.Table:
		return command.List(l.Printer, watch.ItemView, command.Seq(f.History), 0)
	case len(f.History) == 0:
		return command.Fail(command.ExitOther, fmt.Sprintf("no bulk action has an item %q", f.ID),
			"check the id; items of deleted bulk actions are not found")
	}
	p, _ := command.Outward(l.Env)
	for _, x := range f.History {
		name := strings.TrimSpace(x.Name + " " + p.Dim(x.BulkAction))
		fmt.Fprintln(l.Env.Stdout, p.Tame(p.Bold(x.ID)+"  "+name+"  "+watch.ItemState(p, &x)))
		for _, e := range x.History {
			fmt.Fprintln(l.Env.Stdout, p.Tame(strings.TrimRight("  "+eventText(p, &e), " ")))
		}
	}
	return nil
}

func eventText(p term.Paint, e *api.ItemEvent) string {
	parts := []string{term.Pad(command.People(e.At), 20), term.Pad(e.Step, 16), term.Pad(strings.ReplaceAll(e.Result, "_", " "), 8)}
	if e.Attempts > 0 {
		parts = append(parts, term.Plural(int64(e.Attempts), "attempt", "attempts"))
	}
	if e.Code != "" {
		parts = append(parts, p.Red(e.Code), e.Message)
	}
	if len(e.Output) > 0 {
		parts = append(parts, p.Dim(term.Fit(string(e.Output), 60)))
	}
	return strings.Join(parts, "  ")
}

func errorsCommand() command.Command {
	return command.Command{
		Use: "errors ID", Short: "group the failed items of a bulk action by error, the largest group first", Args: command.BulkID,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			return link.Anywhere(fs, func(ctx context.Context, l *link.Link, args []string) error {
				groups, err := l.ErrorGroups(ctx, args[0])
				if err != nil {
					return err
				}
				return command.List(l.Printer, groupView, command.Seq(groups), 0)
			})
		},
	}
}

var groupView = command.NewView[api.ErrorGroup]("error groups", "code", "count, step, code, message, sample", "", nil)

func timelineCommand() command.Command {
	return command.Command{
		Use: "timeline ID", Short: "show what happened to a bulk action, the newest first", Args: command.BulkID,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			return link.Anywhere(fs, func(ctx context.Context, l *link.Link, args []string) error {
				events, err := l.Timeline(ctx, args[0], 0)
				if err != nil {
					return err
				}
				return command.List(l.Printer, eventView, command.Seq(events), 0)
			})
		},
	}
}

var eventView = command.NewView[api.Event]("events", "at", "at, text, actor, reason", "", nil)
