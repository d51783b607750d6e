package operate

import (
	"context"
	"strconv"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
)

var (
	partitionView    = command.NewView("partitions", "partition", "partition, owner, lanes, ready, in flight", "", command.Texts[api.Partition]{})
	partitioningView = command.NewView("partitionings", "partitions", "partitions, kept, changing", "", command.Texts[api.PartitioningStatus]{})
)

func partitionsCommand() command.Command {
	return command.Command{Use: "partitions", Short: "manage partitions, the independent queues of all nodes: list, get, set",
		Subs: []command.Command{
			{Use: "list", Short: "list the partitions, their owners and their work", Args: command.Args(0, 0, ""),
				Bind: func(fs *pflag.FlagSet) command.Runner {
					return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
						return command.List(l.Printer, partitionView, l.Partitions(ctx), 0)
					})
				}},
			{Use: "get", Short: "show how many partitions new work is spread over", Args: command.Args(0, 0, ""),
				Bind: func(fs *pflag.FlagSet) command.Runner {
					return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
						p, err := l.Partitioning(ctx)
						if err != nil {
							return err
						}
						return command.One(l.Printer, partitioningView, p)
					})
				}},
			{Use: "set N", Short: "change how many partitions new work is spread over, while all nodes run", Args: command.Args(1, 1, "N"),
				Long: `New work follows the new number at once. Existing work ends where it is: KEPT counts the partitions including those
that only end the work they hold. A node whose configuration has another number changes it back when it starts.`,
				Example: `  weir partitions set 64
  weir partitions set 128 --dry-run`, Bind: bindPartitionsSet},
		}}
}

func bindPartitionsSet(fs *pflag.FlagSet) command.Runner {
	dry := fs.Bool("dry-run", false, "change nothing: check the number and show what it would lead to")
	return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return command.BadUsage("write a number from 1 to 256, as in 64", "%q is not a number of partitions", args[0])
		}
		before, err := l.Partitioning(ctx)
		if err != nil {
			return err
		}
		p, err := l.SetPartitions(ctx, n, *dry)
		if err != nil {
			return err
		}
		if fewer := before.Partitions - n; fewer > 0 {
			l.Say("new work no longer goes to the last %s; existing work ends there", term.Plural(int64(fewer), "partition", "partitions"))
		}
		return command.One(l.Printer, partitioningView, p)
	})
}
