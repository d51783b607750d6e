package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
	"github.com/weirhq/weir/report"
)

func retryCommand() command.Command {
	return command.Command{
		Use: "retry ID", Short: "retry the failed or cancelled items of a bulk action",
		Long: `Submits items again as a new bulk action that is linked to the first. Each item continues at the step at which
it ended; the outputs of its earlier steps are kept. By default failed items are retried; with --state cancelled, items
that a deadline, a user or a rule cancelled. In a data directory the command runs them to their end.` + link.Elsewhere,
		Example: `  weir retry ba_01k9x…                                          a run in .weir
  weir retry ba_01k9x… --server https://weir.example.com --code bad_address --rate 50/s
  weir retry ba_01k9x… --state cancelled                        what its deadline cancelled`,
		Args: command.BulkID,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o, there := &runOptions{}, &againOptions{}
			o.Flags = fs
			fs.Var(&o.each.Rate, "rate", spec.RateHelp)
			there.bind(fs)
			command.Grouped(fs, "In a data directory", func(fs *pflag.FlagSet) {
				o.BindReport(fs)
				o.bindSlots(fs)
			})
			return func(ctx context.Context, env *command.Env, args []string) error {
				if s := report.State(there.again.State); s != "" && s != report.StateFailed && s != report.StateCancelled {
					return command.BadUsage("write failed or cancelled", "--state: items in state %q cannot be retried", s)
				}
				if there.target.AtServer(env) {
					if err := command.Stray(fs, "leave it out, or name a data directory with --data", "runs in a data directory", "report",
						"report-format", "summary-json", "retries", "slots"); err != nil {
						return err
					}
					there.again.Rate = api.Rate(o.each.Rate)
					return there.target.Ask(ctx, env, there.out, func(ctx context.Context,
						l *link.Link) error {
						return there.run(ctx, l, args[0])
					})
				}
				if err := command.Stray(fs, "leave it out, or name a server with --server", "bulk actions of a server", "wait", "timeout",
					"output"); err != nil {
					return err
				}
				c, err := openCatalogue(env, "")
				if err != nil {
					return err
				}
				if err := o.CheckPlaces(env, ""); err != nil {
					return err
				}
				o.data = there.target.Data
				return retryRun(ctx, env, o, c, args[0], there.again)
			}
		},
	}
}

// retryRun runs items of a run again.
func retryRun(ctx context.Context, env *command.Env, o *runOptions, c catalogue, id string, again api.Again) error {
	scr := env.Screen()
	r, b, err := pickUp(ctx, env, o, c, id)
	if err != nil {
		return err
	}
	s, err := reopen(ctx, env, o, c, scr, r, &b)
	if err != nil {
		return err
	}
	tellUnclear(ctx, s.Client, env, id, &again)
	made, err := s.Retry(client.WithKey(ctx, retryKey(&b, &again)), id, again)
	if err == nil {
		err = s.retriedBefore(ctx, id, &made)
	}
	if err != nil {
		return errors.Join(command.LocalFailure(err), s.Close())
	}
	scr.Print(fmt.Sprintf("  %s     %s of %s, from the step at which they ended", scr.Paint.Dim("retry"),
		term.Plural(made.Items, "item", "items"), id),
		watch.ChainLine(scr.Paint, inChain(s.steps, b.Steps)))
	var all []*watch.Running
	for i, child := range made.BulkActions {
		x := &local.Run{ID: child.ID, Input: r.Input, Actions: r.Actions, Accepted: true, Rows: child.Counts.Total,
			Results: o.Results} // never over those of the first
		if len(made.BulkActions) > 1 {
			if x.Report != "" {
				x.Report = filepath.Join(x.Report, fmt.Sprint(i+1))
			}
			x.SummaryJSON = numbered(x.SummaryJSON, i+1)
		}
		if err := s.Runs.Save(x); err != nil {
			return errors.Join(err, s.Close())
		}
		all = append(all, &watch.Running{Run: x, Bulk: child})
	}
	return s.finish(ctx, time.Duration(o.runTimeout), all)
}

// retryKey identifies the retry of the same items: a retry whose process was killed is completed by repeating the
// command. Items that have failed since then make it another retry.
func retryKey(b *api.BulkAction, again *api.Again) string {
	raw, err := json.Marshal(again)
	if err != nil {
		return "" // it cannot fail: every member is plain
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %s", b.ID, b.Counts.Failed, b.Counts.Cancelled, raw))
	return "retry-" + hex.EncodeToString(sum[:16])
}

// retriedBefore refuses a retry that an earlier command has made and listed, if all of it has ended. What was
// interrupted goes on.
func (s *session) retriedBefore(ctx context.Context, id string, made *api.Linked) error {
	over := true
	var names []string
	for i := range made.BulkActions {
		child := &made.BulkActions[i]
		_, unlisted := s.Runs.Get(child.ID)
		now, err := s.Get(ctx, child.ID) // the response may be that of the first time
		if err != nil {
			return err
		}
		if *child = now; now.State == api.Paused || now.State == api.Stopped {
			if *child, err = s.Resume(ctx, now.ID, "resumed from the command line"); err != nil {
				return err
			}
		}
		over = over && unlisted == nil && now.State.Final()
		names = append(names, now.ID)
	}
	if over {
		return command.BadUsage("retry what failed in each of them", "these items of %s were already retried, by %s", id,
			strings.Join(names, ", "))
	}
	return nil
}

// numbered puts a number before the extension of a file's name, as in sum-2.json. Stdout stays stdout.
func numbered(file string, n int) string {
	if file == "" || file == "-" {
		return file
	}
	ext := filepath.Ext(file)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, ext), n, ext)
}
