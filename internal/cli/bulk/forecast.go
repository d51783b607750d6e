package bulk

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
)

func forecastCommand() command.Command {
	return command.Command{
		Use: "forecast ID", Short: "forecast when a bulk action would finish if it started",
		Example: `  weir forecast ba_01k9x…
  weir forecast ba_01k9x… --rate send-message=450/s --start-at 2030-01-31T18:00:00Z`,
		Args: command.Args(1, 1, "ID"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			var req api.ForecastRequest
			fs.StringVar(&req.StartAt, "start-at", "", "`TIME` of the start (default now)")
			fs.StringVar(&req.Zone, "zone", "", "IANA `ZONE` of --start-at")
			fs.Int64Var(&req.Items, "items", 0, "`N` items to assume for a draft that has not read its source")
			rates := fs.StringArray("rate", nil, "`RESOURCE=RATE` to assume for a resource, as in send-message=450/s")
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				for _, text := range *rates {
					name, rate, _ := strings.Cut(text, "=")
					var r api.Rate
					if err := r.UnmarshalText([]byte(rate)); err != nil || name == "" {
						return command.BadUsage("write it as in send-message=450/s", "--rate: %q is not a resource and rate", text)
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
				return showForecast(l, &f)
			})
		},
	}
}

func showForecast(l *link.Link, f *api.Forecast) error {
	if l.Out == command.Table {
		p, _ := command.Outward(l.Env)
		if !f.EndedAt.IsZero() {
			_, err := fmt.Fprintf(l.Env.Stdout, "  %s  %s\n", p.Dim("forecast"), strings.Join(f.Assumptions, " "))
			return err
		}
		fmt.Fprintln(l.Env.Stdout, watch.ForecastLine(p, f))
		fmt.Fprintf(l.Env.Stdout, "  %s     %s · %s · %s invalid\n", p.Dim("items"), term.Plural(f.Items, "item", "items"),
			term.Plural(f.Duplicates, "duplicate", "duplicates"), term.Number(f.Invalid))
		for _, c := range f.Clashes {
			fmt.Fprintf(l.Env.Stdout, "  %s     %s: %s of other work, %.0f%% is left for this\n", p.Dim("clash"), c.Resource,
				term.Plural(c.Backlog, "item", "items"), c.Share*100)
		}
		for _, a := range f.Assumptions {
			fmt.Fprintf(l.Env.Stdout, "  %s   %s\n", p.Dim("assumed"), a)
		}
		for _, w := range f.Warnings {
			fmt.Fprintf(l.Env.Stdout, "  %s   %s\n", p.Yellow("warning"), w)
		}
	}
	if l.Out == command.JSON || l.Out == command.NDJSON {
		return command.One(l.Printer, command.View[api.Forecast]{}, *f)
	}
	return command.List(l.Printer, command.NewView[api.ForecastStep]("", "step", "step, action, items, calls, takes", "", nil),
		command.Seq(f.Steps), 0)
}
