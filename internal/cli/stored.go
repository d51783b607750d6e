package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

// newKeysHelp explains the flag --new-keys.
const newKeysHelp = "give the items new idempotency keys; a call that did succeed is then repeated (default: keep the keys)"

// keepTryingHelp explains the flag --keep-trying.
const keepTryingHelp = "continue even if no call of a step has ever succeeded (default: stop after 30s; 5s if every response says that the request itself is wrong, such as 404; 2m if the action has answered other bulk actions)"

func retryCommand() command {
	return command{
		use: "retry ID", short: "retry the failed or cancelled items of a run or a bulk action",
		long: `Submits items again as a new run or bulk action that is linked to the first. Each item continues at the step at which
it ended; the outputs of its earlier steps are kept. By default failed items are retried; with --state cancelled, items
that a deadline, a user or a rule cancelled. ` + elsewhere,
		example: `  weir retry ba_01k9x…                                          a run in .weir
  weir retry ba_01k9x… --server https://weir.example.com --code bad_address --rate 50/s
  weir retry ba_01k9x… --state cancelled                        what its deadline cancelled`,
		args: between(1, 1, "ID"),
		bind: func(fs *pflag.FlagSet) runner {
			o, there := &runOptions{}, &againOptions{}
			fs.Var(&o.each.Rate, "rate", rateHelp)
			fs.StringVar(&there.again.State, "state", "", "retry items that ended in this `STATE`: failed or cancelled (default failed)")
			fs.BoolVar(&there.again.NewKeys, "new-keys", false, newKeysHelp)
			grouped(fs, "In a data directory", func(fs *pflag.FlagSet) {
				fs.StringVar(&o.data, "data", defaultData, "data `DIR` of the runs")
				fs.StringVar(&o.Report, "report", "", "`DIR` for the report; an existing report is replaced")
				fs.Var(&o.ReportFormat, "report-format", "csv or ndjson (default csv)")
				fs.Var(&o.each.Retries, "retries", "maximum retries of a failed item (default 4)")
				fs.IntVar(&o.slots, "slots", 64, "maximum concurrent calls, all steps together: `N`")
			})
			there.bind(fs)
			return func(ctx context.Context, env *Env, args []string) error {
				if s := there.again.State; s != "" && s != report.Failed && s != report.Cancelled {
					return badUsage("write failed or cancelled", "--state: items in state %q cannot be retried", s)
				}
				if there.remote.meant(env, fs) {
					if err := strayThere(fs, "data", "report", "report-format", "retries", "slots"); err != nil {
						return err
					}
					there.again.Rate = api.Rate(o.each.Rate)
					return there.remote.ask(ctx, env, there.out, func(ctx context.Context, l *link) error { return there.run(ctx, l, args[0]) })
				}
				if err := strayHere(fs, "code", "step", "filter", "reason", "wait", "timeout", "output"); err != nil {
					return err
				}
				c, err := o.catalogue(env)
				if err != nil {
					return err
				}
				if err := o.checkPlaces(env); err != nil {
					return err
				}
				o.newKeys, o.state = there.again.NewKeys, there.again.State
				return retryRun(ctx, env, o, c, weir.BulkID(args[0]))
			}
		},
	}
}

// retryRun runs items of a run again.
func retryRun(ctx context.Context, env *Env, o *runOptions, c catalogue, id weir.BulkID) error {
	scr := newScreen(env)
	s, err := openSession(ctx, env, o.data, o.engineOptions(scr), false)
	if err != nil {
		return err
	}
	all, err := s.retryFailed(ctx, o, c, id)
	if err != nil {
		return errors.Join(err, s.close())
	}
	items := int64(0)
	for _, r := range all {
		items += r.bulk.Items()
	}
	scr.print(fmt.Sprintf("  %s     %s of %s, from the step at which they ended", scr.paint.dim("retry"), plural(items, "item", "items"), id),
		chainLine(scr.paint, all[0].steps))
	return s.finish(ctx, scr, time.Duration(o.runTimeout), all)
}

func (s *session) retryFailed(ctx context.Context, o *runOptions, c catalogue, id weir.BulkID) ([]*running, error) {
	j, err := s.job(id)
	if err != nil {
		return nil, err
	}
	first, err := s.load(c, o, j)
	if err != nil {
		return nil, err
	}
	s.start(ctx)
	ba, err := s.find(ctx, first.job.ID)
	if err != nil {
		return nil, err
	}
	children, err := s.unlisted(ctx, ba)
	if err == nil && len(children) == 0 {
		children, err = ba.Retry(ctx, engine.RetryOptions{State: o.state, NewKeys: o.newKeys})
	}
	if err != nil {
		return nil, err
	}
	var all []*running
	for i, child := range children {
		j := *first.job
		j.Key, j.ID, j.RetryOf, j.Created = newKey(), child.ID(), first.job.ID, time.Now().UTC()
		j.Rows, j.Duplicates, j.Invalid = child.Items(), 0, 0
		j.Report, j.SummaryJSON = o.Report, o.SummaryJSON // never over those of the first
		if len(children) > 1 {
			j.Name = fmt.Sprintf("%s (%d)", j.Name, i+1)
			if j.Report != "" {
				j.Report = filepath.Join(j.Report, fmt.Sprint(i+1))
			}
			j.SummaryJSON = numbered(j.SummaryJSON, i+1)
		}
		if err := s.jobs.save(&j); err != nil {
			return nil, err
		}
		all = append(all, &running{job: &j, bulk: child, steps: first.steps})
	}
	return all, nil
}

// numbered puts a number before the extension of a file's name, as in sum-2.json. Stdout stays stdout.
func numbered(file string, n int) string {
	if file == "" || file == "-" {
		return file
	}
	ext := filepath.Ext(file)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, ext), n, ext)
}

// unlisted returns retries of a bulk action that no job knows: a process died
// between accepting and listing them.
func (s *session) unlisted(ctx context.Context, ba *engine.BulkAction) ([]*engine.BulkAction, error) {
	made, err := ba.Retries(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.jobs.all()
	if err != nil {
		return nil, other(err, "")
	}
	return slices.DeleteFunc(made, func(x *engine.BulkAction) bool {
		return slices.ContainsFunc(all, func(j *job) bool { return j.ID == x.ID() })
	}), nil
}

func listCommand() command {
	return command{
		use: "list", short: "list the bulk actions of a server, or the runs in a data directory",
		long: "Lists the bulk actions of a server, the newest first, or the runs in a data directory, the oldest first. " + elsewhere,
		example: `  weir list                                                  the runs in .weir
  weir list --server https://weir.example.com --state running`,
		args: between(0, 0, ""),
		bind: func(fs *pflag.FlagSet) runner {
			there := &listOptions{}
			grouped(fs, "In a data directory", func(fs *pflag.FlagSet) { fs.String("data", defaultData, "data `DIR` of the runs") })
			there.bind(fs)
			return func(ctx context.Context, env *Env, _ []string) error {
				if there.remote.meant(env, fs) {
					if err := strayThere(fs, "data"); err != nil {
						return err
					}
					return there.remote.ask(ctx, env, there.out, there.run)
				}
				if err := strayHere(fs, "state", "tenant", "name", "label", "limit", "output"); err != nil {
					return err
				}
				data, err := fs.GetString("data")
				if err != nil {
					return err
				}
				ctx, cancel := env.untilSignal(ctx)
				defer cancel()
				s, err := openSession(ctx, env, data, engine.Options{}, false)
				if err != nil {
					return err
				}
				return errors.Join(s.list(ctx), s.close())
			}
		},
	}
}

// list prints a table of the runs, oldest first.
func (s *session) list(ctx context.Context) error {
	all, err := s.jobs.all()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tSTATE\tITEMS\tDONE\tFAILED\tCREATED\tRETRY OF")
	for _, j := range all {
		if j.ID == "" {
			continue
		}
		ba, err := s.engine.Get(ctx, j.ID)
		if errors.Is(err, weir.ErrNotFound) {
			fmt.Fprintf(w, "%s\t%s\taccepted\t%d\t0\t0\t%s\t%s\n", j.ID, j.Name, j.Rows-j.Duplicates-j.Invalid, j.Created.Format(time.RFC3339), j.RetryOf)
			continue
		}
		if err != nil {
			return err
		}
		p, err := ba.Now(ctx)
		if err != nil {
			return err
		}
		c := p.Counts
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", j.ID, j.Name, idleState(p.State), c.Total, c.Done, c.Failed, j.Created.Format(time.RFC3339), j.RetryOf)
	}
	return w.Flush()
}

// idleState is the state of a run in a data directory that no other process uses: nothing runs there.
func idleState(s weir.BulkState) string {
	if s == weir.BulkRunning || s == weir.BulkCancelling {
		return "interrupted"
	}
	return s.String()
}

func reportCommand() command {
	return command{
		use: "report ID", short: "write the report of a run or a bulk action",
		long: "Writes a summary and, in a folder, one row per item. " + elsewhere, args: between(1, 1, "ID"),
		bind: func(fs *pflag.FlagSet) runner {
			there := &remote{}
			dir := fs.StringP("dir", "d", "", "`DIR` for the report (default: print report.json to stdout)")
			var format config.ReportFormat
			fs.Var(&format, "report-format", "csv or ndjson (default csv)")
			data := fs.String("data", defaultData, "data `DIR` of the runs")
			there.bind(fs)
			return func(ctx context.Context, env *Env, args []string) error {
				if there.meant(env, fs) {
					if err := strayThere(fs, "data"); err != nil {
						return err
					}
					return there.ask(ctx, env, outTable, func(ctx context.Context, l *link) error {
						return l.download(ctx, args[0], *dir, string(format))
					})
				}
				ctx, cancel := env.untilSignal(ctx)
				defer cancel()
				s, err := openSession(ctx, env, *data, engine.Options{}, false)
				if err != nil {
					return err
				}
				return errors.Join(s.report(ctx, weir.BulkID(args[0]), *dir, format), s.close())
			}
		},
	}
}

// report writes the report of a stored run as of now.
func (s *session) report(ctx context.Context, id weir.BulkID, dir string, format config.ReportFormat) error {
	j, err := s.job(id)
	if err != nil {
		return err
	}
	ba, err := s.engine.Get(ctx, j.ID)
	if err != nil {
		return err
	}
	rep, err := ba.Report(ctx)
	if err != nil {
		return s.unwritten(ctx, err, j)
	}
	if err := j.complete(ctx, ba, &rep.Summary); err != nil {
		return s.unwritten(ctx, err, j)
	}
	j.Report, j.ReportFormat, j.SummaryJSON = dir, format, ""
	if dir == "" {
		j.SummaryJSON = "-"
	}
	files, err := s.writeReport(ctx, rep, j)
	if err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintln(s.env.Stdout, f)
	}
	return nil
}
