package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/report"
)

// session is a node in this process that works on runs until they have ended.
type session struct {
	env *Env
	*local
	*link
	screen *screen
	steps  []weir.Step // the actions of the runs
}

// running is a run under way, with what is known about it.
type running struct {
	run      *run
	bulk     api.BulkAction
	forecast time.Duration // how long it was said to take; 0: unknown
	over     bool          // it had ended before this process began
	resumed  *resumption
}

// resumption records the state of a bulk action when this process resumed it.
type resumption struct {
	at    time.Time
	steps []api.StepProgress
}

// only makes the rates of a summary those since the resumption, and returns how long ago that is.
func (r *resumption) only(sum *report.Summary) time.Duration {
	end := time.Now()
	if sum.FinishedAt != nil {
		end = *sum.FinishedAt
	}
	took := end.Sub(r.at)
	for i := range min(len(sum.Steps), len(r.steps)) {
		sum.Steps[i].Rate = 0
		if took > 0 {
			sum.Steps[i].Rate = float64(sum.Steps[i].Done-r.steps[i].Done) / took.Seconds()
		}
	}
	return took
}

func openSession(ctx context.Context, env *Env, o *runOptions, scr *screen, steps []weir.Step, create bool) (*session, error) {
	log := slog.New(shownElsewhere{slog.NewTextHandler(scr, &slog.HandlerOptions{Level: slog.LevelWarn})})
	l, err := openLocal(ctx, env, o.data, localOptions{create: create, steps: steps, slots: o.slots, log: log})
	if err != nil {
		return nil, err
	}
	to, err := l.link()
	return &session{env: env, local: l, link: to, screen: scr, steps: steps}, err
}

// cloneWith returns the actions of a run with the flags for every step over them.
func cloneWith(r *run, o *runOptions) map[string]config.Step {
	all := maps.Clone(r.Actions)
	for name, a := range all {
		override(&a, &o.each)
		all[name] = a
	}
	return all
}

// describe prints the chain of a run and its forecast.
func (s *session) describe(x *running, f *api.Forecast, err error) {
	s.screen.print(chainLine(s.screen.paint, inChain(s.steps, x.bulk.Steps)))
	switch {
	case err != nil:
		s.say("no forecast: %v", err)
	case f.EndedAt.IsZero(): // else it has ended meanwhile
		x.forecast = time.Duration(f.Takes.P50)
		s.screen.print(forecastLine(s.screen.paint, f))
	}
}

// finish watches runs to their end, writes their reports, prints the
// summaries, and closes the session. What it returns carries the exit code.
func (s *session) finish(ctx context.Context, limit time.Duration, all []*running) error {
	w := &watcher{link: s.link, screen: s.screen, began: time.Now(), limit: limit, here: &s.worker, broken: s.broken}
	for _, r := range all {
		w.tracks = append(w.tracks, &track{id: r.bulk.ID, label: r.bulk.Name, steps: inChain(s.steps, r.bulk.Steps),
			since: w.began, deadline: r.bulk.Deadline, now: panelCounts(&r.bulk)})
	}
	why, err := w.watch(ctx)
	if err != nil {
		return err
	}
	switch why {
	case allEnded:
	case aborted:
		s.sayResume(all, "aborted; tasks in flight run again")
		return ended(exitInterrupted)
	case drained, timedOut:
		return s.interrupted(all, why)
	case detached: // only from a server
	}
	if err := s.end(); err != nil { // running calls have ended: the report is complete
		return errors.Join(err, s.close())
	}
	return s.conclusion(ctx, all, time.Since(w.began))
}

// conclusion writes reports, prints summaries, and closes the session.
func (s *session) conclusion(ctx context.Context, all []*running, took time.Duration) error {
	ctx, cancel := s.env.untilSignal(ctx)
	defer cancel()
	code := exitOK
	for _, r := range all {
		c, err := s.conclude(ctx, s.screen, r)
		if err != nil {
			return errors.Join(err, s.close())
		}
		code = max(code, c)
	}
	if all[0].over {
		code = exitOK
	}
	return errors.Join(ended(code), s.close())
}

// interrupted ends a session that was told to stop. The bulk actions may have ended all the same.
func (s *session) interrupted(all []*running, why end) error {
	if err := s.close(); err != nil {
		return err
	}
	s.sayResume(all, "stopped; all results are saved")
	code := exitInterrupted
	if why == timedOut {
		code = exitTimeout
	}
	return ended(code)
}

func (s *session) sayResume(all []*running, what string) {
	s.screen.print("", "  "+s.screen.paint.yellow("‖")+" "+what)
	for _, r := range all {
		s.screen.print(fmt.Sprintf("    resume         %s run --resume %s%s", s.env.Program, r.bulk.ID, s.flag))
	}
}

func retryCommand() command {
	return command{
		use: "retry ID", short: "retry the failed or cancelled items of a bulk action",
		long: `Submits items again as a new bulk action that is linked to the first. Each item continues at the step at which
it ended; the outputs of its earlier steps are kept. By default failed items are retried; with --state cancelled, items
that a deadline, a user or a rule cancelled. In a data directory the command runs them to their end. ` + elsewhere,
		example: `  weir retry ba_01k9x…                                          a run in .weir
  weir retry ba_01k9x… --server https://weir.example.com --code bad_address --rate 50/s
  weir retry ba_01k9x… --state cancelled                        what its deadline cancelled`,
		args: bulkID,
		bind: func(fs *pflag.FlagSet) runner {
			o, there := &runOptions{}, &againOptions{}
			o.flags = fs
			fs.Var(&o.each.Rate, "rate", rateHelp)
			there.bind(fs)
			grouped(fs, "In a data directory", func(fs *pflag.FlagSet) {
				o.bindReport(fs)
				o.bindSlots(fs)
			})
			return func(ctx context.Context, env *Env, args []string) error {
				if s := there.again.State; s != "" && s != report.Failed && s != report.Cancelled {
					return badUsage("write failed or cancelled", "--state: items in state %q cannot be retried", s)
				}
				if there.target.atServer(env) {
					if err := stray(fs, "leave it out, or name a data directory with --data", "runs in a data directory", "report",
						"report-format", "summary-json", "retries", "slots"); err != nil {
						return err
					}
					there.again.Rate = api.Rate(o.each.Rate)
					return there.target.ask(ctx, env, there.out, func(ctx context.Context, l *link) error { return there.run(ctx, l, args[0]) })
				}
				if err := stray(fs, "leave it out, or name a server with --server", "bulk actions of a server", "wait", "timeout",
					"output"); err != nil {
					return err
				}
				c, err := openCatalogue(env, "")
				if err != nil {
					return err
				}
				if err := o.checkPlaces(env, ""); err != nil {
					return err
				}
				o.data = there.target.data
				return retryRun(ctx, env, o, c, args[0], there.again)
			}
		},
	}
}

// retryRun runs items of a run again.
func retryRun(ctx context.Context, env *Env, o *runOptions, c catalogue, id string, again api.Again) error {
	scr := newScreen(env)
	r, b, err := pickUp(ctx, env, o.data, id)
	if err != nil {
		return err
	}
	s, err := reopen(ctx, env, o, c, scr, r, &b)
	if err != nil {
		return err
	}
	made, err := s.Retry(client.WithKey(ctx, retryKey(&b, &again)), id, again)
	if err == nil {
		err = s.retriedBefore(ctx, id, &made)
	}
	if err != nil {
		return errors.Join(here(err), s.close())
	}
	scr.print(fmt.Sprintf("  %s     %s of %s, from the step at which they ended", scr.paint.dim("retry"),
		plural(made.Items, "item", "items"), id),
		chainLine(scr.paint, inChain(s.steps, b.Steps)))
	var all []*running
	for i, child := range made.BulkActions {
		x := &run{ID: child.ID, Input: r.Input, Actions: r.Actions, Accepted: true, Rows: child.Counts.Total,
			results: o.results} // never over those of the first
		if len(made.BulkActions) > 1 {
			if x.Report != "" {
				x.Report = filepath.Join(x.Report, fmt.Sprint(i+1))
			}
			x.SummaryJSON = numbered(x.SummaryJSON, i+1)
		}
		if err := s.runs.save(x); err != nil {
			return errors.Join(err, s.close())
		}
		all = append(all, &running{run: x, bulk: child})
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
		_, unlisted := s.runs.get(child.ID)
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
		return badUsage("retry what failed in each of them", "these items of %s were already retried, by %s", id, strings.Join(names, ", "))
	}
	return nil
}

// here makes what a node in this process refuses an error in what the user asked for.
func here(err error) error {
	if err == nil {
		return nil
	}
	if f, said := errors.AsType[*failure](err); said {
		return f
	}
	f := explain(err)
	if f.code == exitRefused {
		f.code = exitUsage
	}
	return f
}

// numbered puts a number before the extension of a file's name, as in sum-2.json. Stdout stays stdout.
func numbered(file string, n int) string {
	if file == "" || file == "-" {
		return file
	}
	ext := filepath.Ext(file)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, ext), n, ext)
}
