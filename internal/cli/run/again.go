package run

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/cli/watch"
	"github.com/weirhq/weir/report"
)

// againOptions say which items of a server's bulk action are tried again.
type againOptions struct {
	target  link.Target
	out     command.Format
	again   api.Again
	wait    bool
	timeout config.Span
}

func (o *againOptions) bind(fs *pflag.FlagSet) {
	command.Grouped(fs, "Which items", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.again.State, "state", "", "retry items that ended in this `STATE`: failed or cancelled (default failed)")
		fs.BoolVar(&o.again.NewKeys, "new-keys", false, spec.NewKeysHelp)
		fs.StringVar(&o.again.Code, "code", "", "only items with this error `CODE`")
		fs.StringVar(&o.again.Step, "step", "", "only items that ended at this `STEP`")
		fs.StringVar(&o.again.Filter, "filter", "", "only items for which this `EXPRESSION` is true, as in \"item.country == 'DE'\"")
		fs.StringVar(&o.again.Name, "name", "", "`NAME` of the retries (default: that of the bulk action with \"(retry 1)\")")
		fs.StringVar(&o.again.Reason, "reason", "", "`TEXT` for the audit log")
	})
	command.Grouped(fs, "On a server", func(fs *pflag.FlagSet) {
		fs.BoolVar(&o.wait, "wait", false, watch.WaitForEnd)
		fs.Var(&o.timeout, "timeout", "stop waiting after this time, as in 30m")
		o.out.Bind(fs)
	})
	o.target.Bind(fs)
}

func (o *againOptions) run(ctx context.Context, l *link.Link, id string) error {
	tellUnclear(ctx, l.Client, l.Env, id, &o.again)
	made, err := l.Retry(ctx, id, o.again)
	if err != nil {
		return err
	}
	return watch.Linked(ctx, l, made, o.wait, o.timeout)
}

// tellUnclear says before items are run again that the service may have done some of them. If that cannot be told, the
// retry itself says why, or its key may retry and not read.
func tellUnclear(ctx context.Context, c *client.Client, env *command.Env, id string, again *api.Again) {
	r, err := c.Report(ctx, id)
	if err != nil || again.State != string(report.StateCancelled) && r.UnclearFailed == 0 {
		return
	}
	if r.UnclearText != "" && r.UndoneBy == "" {
		fmt.Fprintf(env.Stderr, "  %s\n", r.UnclearText)
	}
}
