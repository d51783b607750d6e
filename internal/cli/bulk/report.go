package bulk

import (
	"context"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/watch"
)

func reportCommand() command.Command {
	return command.Command{
		Use: "report ID", Short: "write the report of a bulk action",
		Long: "Writes a summary and, in a folder, one row per item." + link.Elsewhere, Args: command.BulkID,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			var to local.Results
			fs.StringVarP(&to.Report, "dir", "d", "", "`DIR` for the report (default: print report.json to stdout)")
			fs.Var(&to.Format, "report-format", "csv or ndjson (default csv)")
			at := &link.Target{}
			at.Bind(fs)
			return func(ctx context.Context, env *command.Env, args []string) error {
				return at.Ask(ctx, env, command.Table, func(ctx context.Context,
					l *link.Link) error {
					return watch.WriteReportOf(ctx, l, args[0], to)
				})
			}
		},
	}
}
