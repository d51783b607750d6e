package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/engine"
)

func runCommand() command {
	return command{
		use: "run FILE|-", short: "run actions over the items of a file and write a report",
		long: `Reads items from a file (CSV, NDJSON or JSON, also as gzip or zstd; - is stdin), runs a chain of
actions over them, and writes a report. No server is needed: the state is kept in the folder .weir.

--resume continues an interrupted run. If a URL was wrong, correct it with --resume and --url or --config: done items
stay done, and items keep their idempotency keys.

Exit codes: 0 all items are done, or nothing to resume · 2 usage, configuration or input · 5 ended, some items failed ·
6 stopped by --stop-failures, or because no call succeeded · 7 --run-timeout was reached · 130 interrupted · 1 any other error`,
		example: `  weir run users.csv --action demo.award --action demo.message --report out/
  weir run users.csv --url https://example.com/award --secret-file award.secret --rate 500/s
  zcat events.ndjson.gz | weir run - --chain rewards.yaml --stop-failures 5%
  weir run --resume`,
		args: between(0, 1, "FILE"),
		bind: func(fs *pflag.FlagSet) runner {
			o := &runOptions{}
			o.bind(fs)
			return func(ctx context.Context, env *Env, args []string) error { return runRun(ctx, env, o, args) }
		},
	}
}

func runRun(ctx context.Context, env *Env, o *runOptions, args []string) error {
	if err := o.complete(env, args); err != nil {
		return err
	}
	c, err := o.catalogue(env)
	if err != nil {
		return err
	}
	switch {
	case o.resume != "":
		return resumeRun(ctx, env, o, c)
	case o.retryFailed != "":
		return retryRun(ctx, env, o, c, weir.BulkID(o.retryFailed))
	}
	chain, err := o.chain(env, c)
	if err != nil {
		return err
	}
	if o.dryRun {
		return dryRun(ctx, env, o, c, chain)
	}
	return newRun(ctx, env, o, c, chain)
}

// dryRun reads and checks everything, and runs nothing.
func dryRun(ctx context.Context, env *Env, o *runOptions, c catalogue, chain config.Chain) error {
	steps, err := c.steps(chain)
	if err != nil {
		return err
	}
	in, err := waitInput(env, &o.Run, discard{})
	if err != nil {
		return err
	}
	defer in.reader.Close()
	scr := newScreen(env)
	done := make(chan error, 1)
	go func() {
		for _, err := range in.all(func() error { return ctx.Err() }) {
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	if err := showReading(env, scr, in, done); err != nil {
		return err
	}
	scr.print(in.line(scr.paint), chainLine(scr.paint, steps), predict(steps, in.items.Load(), o.slots).line(scr.paint), "",
		"  dry run: nothing was run")
	return nil
}

// newRun reads the input into the store, and runs it.
func newRun(ctx context.Context, env *Env, o *runOptions, c catalogue, chain config.Chain) error {
	scr := newScreen(env)
	j := o.job(env, chain)
	lists := &rowFiles{key: j.Key}
	in, err := waitInput(env, &o.Run, lists)
	if err != nil {
		return err
	}
	defer in.reader.Close()
	s, err := openSession(ctx, env, o.data, o.engineOptions(scr), true)
	if err != nil {
		return err
	}
	lists.jobs = s.jobs
	steps, err := s.register(c, j)
	if err != nil {
		return errors.Join(err, s.close())
	}
	s.start(ctx)
	ba, err := submit(ctx, env, scr, s, o, j, in, lists)
	if err != nil {
		return giveUp(s, err)
	}
	f := predict(steps, in.items.Load(), o.slots)
	scr.print(in.line(scr.paint), chainLine(scr.paint, steps), f.line(scr.paint))
	return s.finish(ctx, scr, time.Duration(o.runTimeout), []*running{{job: j, bulk: ba, steps: steps, forecast: f}})
}

// giveUp ends a session in which nothing was accepted.
func giveUp(s *session, err error) error {
	if interrupted(err) {
		return err // the input may hang in a read that nothing can end
	}
	if e := s.close(); e != nil {
		err = errors.Join(err, e)
	}
	return err
}

func (o *runOptions) engineOptions(scr *screen) engine.Options {
	return engine.Options{
		Slots: o.slots, Workers: o.slots, // a run of one file uses all of them from the start
		Logger: slog.New(shownElsewhere{slog.NewTextHandler(scr, &slog.HandlerOptions{Level: slog.LevelWarn})}),
	}
}

// shownElsewhere leaves out of the log what the panel and the lines of a run show anyway.
type shownElsewhere struct{ slog.Handler }

// Handle implements slog.Handler.
func (h shownElsewhere) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == engine.CallsFail {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (o *runOptions) job(env *Env, chain config.Chain) *job {
	key := newKey()
	j := &job{
		Key: key, ChainKey: key, Name: o.Name, Input: o.Input, Created: time.Now().UTC(), Chain: chain,
		Report: o.Report, ReportFormat: o.ReportFormat, SummaryJSON: o.SummaryJSON,
	}
	if j.Name == "" {
		j.Name = inputName(o.Input)
	}
	return j
}

// submit reads the input into the store. Everything that a later process needs
// is on the disk before the bulk action is accepted.
func submit(ctx context.Context, env *Env, scr *screen, s *session, o *runOptions, j *job, in *input, lists *rowFiles) (*engine.BulkAction, error) {
	if lost, err := s.lost(); err != nil {
		return nil, err
	} else if lost != nil {
		if err := s.adopt(ctx, lost); err != nil {
			return nil, err
		}
	}
	if err := s.jobs.save(j); err != nil {
		return nil, err
	}
	spec := weir.Spec{
		Name: j.Name, Tenant: o.Tenant, Tier: weir.Tier(o.Tier), Duplicates: weir.KeepAll, // compared here, where lines are known
		StopOn: o.stopRule(), Deadline: o.Deadline.From(time.Now()),
	}
	finish := func() error {
		j.Rows, j.Duplicates, j.Invalid = in.rows.Load(), in.repeated.Load(), in.bad.Load()
		return errors.Join(lists.close(), s.jobs.save(j))
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	var ba *engine.BulkAction
	done := make(chan error, 1)
	go func() {
		var err error
		ba, err = engine.Submit(reading, s.engine, weir.Raw(j.ChainKey), in.all(finish), spec)
		done <- err
	}()
	err := showReading(env, scr, in, done)
	late := interrupted(err)
	if late {
		cancel()
		err = whatNow(done, err, patience/3)
	}
	if err != nil {
		return nil, errors.Join(err, lists.close(), s.jobs.remove(j.Key))
	}
	j.ID = ba.ID()
	if err := s.jobs.save(j); err != nil || !late {
		return ba, err
	}
	return nil, &failure{exitInterrupted, "interrupted when the items had just been accepted", "continue with " + env.Program + " run --resume " + string(j.ID) + s.dataFlag()}
}

// stopRule returns the rule that stops the run early.
func (o *runOptions) stopRule() weir.StopRule {
	rule := o.StopFailures.Rule
	rule.KeepTrying = o.KeepTrying
	return rule
}

// whatNow is how a submit ended that was interrupted with err: nil if the items
// were accepted all the same. One that hangs in a read is not waited for: its
// input has not ended, so nothing can be accepted.
func whatNow(done <-chan error, err error, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case ended := <-done:
		if ended == nil {
			return nil
		}
	case <-timer.C:
	}
	return err
}

// interrupted says whether err is the user's wish.
func interrupted(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.code == exitInterrupted
}

// showReading draws how far the input was read, until it ends or the user stops it.
func showReading(env *Env, scr *screen, in *input, done <-chan error) error {
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case err := <-done:
			scr.draw(nil)
			return err
		case <-env.Signals:
			scr.draw(nil)
			return errReading()
		case <-tick.C:
			switch {
			case scr.live():
				scr.draw([]string{in.reading()})
			case time.Since(last) >= plainEvery:
				last = time.Now()
				scr.print(in.reading())
			}
		}
	}
}

// waitInput opens the input. Its first bytes may take their time, and an interrupt must not.
func waitInput(env *Env, o *config.Run, lists rowLists) (in *input, err error) {
	done := make(chan struct{})
	go func() {
		in, err = openInput(env, o, lists)
		close(done)
	}()
	select {
	case <-done:
		return in, err
	case <-env.Signals:
		return nil, errReading()
	}
}

// errReading is an interrupt before the input was read to its end.
func errReading() error {
	return &failure{exitInterrupted, "interrupted while the input was being read: nothing was accepted", "run the same command again to start afresh"}
}

// resumeRun resumes a run that an earlier process began.
func resumeRun(ctx context.Context, env *Env, o *runOptions, c catalogue) error {
	scr := newScreen(env)
	s, err := openSession(ctx, env, o.data, o.engineOptions(scr), false)
	if err != nil {
		return err
	}
	r, err := s.pickUp(ctx, o, c)
	if err != nil {
		return errors.Join(err, s.close())
	}
	p, err := r.bulk.Now(ctx)
	if err == nil && p.State.Final() {
		return s.nothingToResume(ctx, scr, r)
	}
	if err == nil && o.KeepTrying {
		rule := r.bulk.Info().StopOn
		rule.KeepTrying = true
		err = r.bulk.Change(ctx, weir.Rules{StopOn: &rule}, "--keep-trying")
	}
	if err == nil && (p.State == weir.BulkPaused || p.State == weir.BulkStopped) {
		err = r.bulk.Resume(ctx, "resumed from the command line")
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	left := p.Counts.Total - p.Counts.Ended()
	r.resumed = &resumption{time.Now(), p.Steps}
	r.forecast = predictEach(r.steps, leftAt(&p), o.slots)
	scr.print(
		fmt.Sprintf("  %s    %s · %s of %s items to go", scr.paint.dim("resume"), r.job.ID, number(left), number(p.Counts.Total)),
		chainLine(scr.paint, r.steps), r.forecast.line(scr.paint))
	return s.finish(ctx, scr, time.Duration(o.runTimeout), []*running{r})
}

// nothingToResume says how a run ended that goes no further. Its report is written
// again: the process that ended it may have died before that.
func (s *session) nothingToResume(ctx context.Context, scr *screen, r *running) error {
	r.over = true
	if err := s.end(); err != nil {
		return errors.Join(err, s.close())
	}
	ctx, cancel := s.env.untilSignal(ctx)
	defer cancel()
	_, err := s.conclude(ctx, scr, r, 0)
	return errors.Join(err, s.close())
}

// pickUp finds the run to resume and starts the engine.
func (s *session) pickUp(ctx context.Context, o *runOptions, c catalogue) (*running, error) {
	j, err := s.job(weir.BulkID(o.resume))
	if o.resume == newest {
		j, err = s.unfinished(ctx)
	}
	if err != nil {
		return nil, err
	}
	r, err := s.load(c, o, j)
	if err != nil {
		return nil, err
	}
	s.start(ctx)
	if j.ID == "" {
		if err := s.adopt(ctx, j); err != nil {
			return nil, err
		}
	}
	if j.ID == "" {
		return nil, badUsage("run the same command again to start afresh", "the run over %s ended before its input was read: nothing was accepted", j.Input)
	}
	r.bulk, err = s.find(ctx, r.job.ID)
	return r, err
}

// load puts the flags over a job and makes its chain known. Corrected endpoints
// are kept: a later process needs them, too.
func (s *session) load(c catalogue, o *runOptions, j *job) (*running, error) {
	kept := *j
	var err error
	if kept.Chain, err = o.corrected(c, j.Chain); err != nil {
		return nil, err
	}
	if j.Chain, err = o.overridden(c, kept.Chain); err != nil {
		return nil, err
	}
	o.redirect(j)
	steps, err := s.register(c, j)
	if err == nil && o.corrects() {
		err = s.jobs.save(&kept)
	}
	return &running{job: j, steps: steps}, err
}

// redirect sends the report of a job elsewhere, if the flags say so.
func (o *runOptions) redirect(j *job) {
	if o.Report != "" {
		j.Report = o.Report
	}
	if o.ReportFormat != "" {
		j.ReportFormat = o.ReportFormat
	}
	if o.SummaryJSON != "" {
		j.SummaryJSON = o.SummaryJSON
	}
}

// probe says whether a folder is there, or can be made, and can be written into.
func probe(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".weir-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=-]+$`)

// quote makes a word that a shell takes as it is.
func quote(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shown joins a folder and a file for people to read.
func shown(dir, file string) string { return filepath.ToSlash(filepath.Join(dir, file)) }
