// Package run has the commands that do the work in this process: weir run and weir retry.
//
// A run is a bulk action of a node in this process. It goes the same way as one of a server, except that its items
// are streamed into the store without HTTP, and that how its actions are called is kept beside the store.
package run

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/cli/watch"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/draft"
)

// Commands returns the commands that run work in this process.
func Commands() []command.Command {
	return []command.Command{
		runCommand(), retryCommand(),
	}
}

func runCommand() command.Command {
	return command.Command{
		Use: "run FILE|-", Short: "run actions over the items of a file and write a report",
		Long: `Reads items from a file (CSV, NDJSON or JSON, also as gzip or zstd; - is stdin), runs a chain of
actions over them, and writes a report. No server is needed: the command is a node of its own, and its state is kept in
the folder .weir. It listens on no port. list, get, errors, items, item, report, retry, pause and cancel work on that
folder, too, while no run uses it.

--resume continues an interrupted run. If a URL was wrong, correct it with --resume and --url or --config: done items
stay done, and items keep their idempotency keys.

Exit codes: 0 all items are done, or nothing to resume · 2 usage, configuration or input · 5 ended, some items failed ·
6 stopped by --stop-failures, because no call succeeded, or for the approval of a canary · 7 --run-timeout was reached ·
130 interrupted · 1 any other error`,
		Example: `  weir run users.csv --action demo.award --action demo.message --report out/
  weir run users.csv --url https://example.com/award --secret-file award.secret --rate 500/s
  zcat events.ndjson.gz | weir run - --chain rewards.yaml --stop-failures 5%
  weir run --resume`,
		Args: command.Args(0, 1, "FILE"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o := &runOptions{}
			o.bind(fs)
			return func(ctx context.Context, env *command.Env, args []string) error { return runRun(ctx, env, o, args) }
		},
	}
}

func runRun(ctx context.Context, env *command.Env, o *runOptions, args []string) error {
	if err := o.complete(env, args); err != nil {
		return err
	}
	c, err := openCatalogue(env, o.config)
	if err != nil {
		return err
	}
	switch {
	case o.resume != "":
		return resumeRun(ctx, env, o, c)
	case o.retryFailed != "":
		return retryRun(ctx, env, o, c, o.retryFailed, api.Again{})
	}
	r := &local.Run{Input: o.Input, Results: o.Results}
	if r.Actions, err = o.chain(env, c); err != nil {
		return err
	}
	steps, err := c.steps(r.Actions)
	if err != nil {
		return err
	}
	if o.dryRun {
		return dryRun(ctx, env, o, steps)
	}
	return newRun(ctx, env, o, r, steps)
}

// newRun reads the input into the store, and runs it.
func newRun(ctx context.Context, env *command.Env, o *runOptions, r *local.Run, steps []weir.Step) error {
	scr := env.Screen()
	lists := &local.RowFiles{}
	in, err := waitInput(env, &o.Options, lists)
	if err != nil {
		return err
	}
	defer in.Reader.Close()
	s, err := openSession(ctx, env, o, scr, steps, true)
	if err != nil {
		return err
	}
	if r.ID, err = s.Service().Drafts.NewID(ctx, cmp.Or(o.Spec.Tenant, "default")); err == nil {
		err = o.mark(r.ID)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	lists.Runs, lists.Id, s.Run = s.Runs, r.ID, r.ID
	s.Start(ctx)
	x := &watch.Running{Run: r}
	var forecast api.Forecast
	var unknown error
	read := func() error { // before it is accepted: it may have ended a moment later
		forecast, unknown = s.Service().Outlook.ForecastNew(ctx, o.Spec, in.Items.Load(), o.slots)
		return lists.Close()
	}
	if x.Bulk, err = s.submit(ctx, o, r, in, read); err != nil {
		return giveUp(s, errors.Join(err, lists.Close()))
	}
	scr.Print(in.Line(scr.Paint))
	s.describe(x, &forecast, unknown)
	return s.finish(ctx, time.Duration(o.runTimeout), []*watch.Running{x})
}

// giveUp ends a session in which nothing was accepted.
func giveUp(s *session, err error) error {
	if interrupted(err) {
		return err // the input may hang in a read that nothing can end
	}
	if e := s.Close(); e != nil {
		err = errors.Join(err, e)
	}
	return err
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

// submit reads the input into the store. Everything that a later process needs
// is on the disk before the bulk action is accepted.
func (s *session) submit(ctx context.Context, o *runOptions, r *local.Run, in *spec.Input,
	read func() error) (b api.BulkAction, err error) {
	if err := s.Runs.Save(r); err != nil {
		return b, err
	}
	// finish runs after the last row and before the items are accepted: counts and lists of rows are on the disk then.
	finish := func() error {
		r.Rows, r.Duplicates, r.Invalid = in.Rows.Load(), in.Repeated.Load(), in.Bad.Load()
		return errors.Join(read(), s.Runs.Save(r))
	}
	made := o.Spec
	made.Duplicates, made.ItemID = "keep_all", in.Reader.Detected().IDColumn // compared here, where lines are known
	if o.Deadline.FromStart() {
		made.Deadline = o.Deadline.From(time.Now())
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var err error
		b, err = s.Service().Bulks.Create(reading, made, draft.Made{ID: r.ID, Items: in.All(finish)})
		done <- err
	}()
	err = showReading(s.env, s.screen, in, done)
	late := interrupted(err)
	if late {
		cancel()
		err = spec.WhatNow(done, err, spec.Patience)
	}
	if err != nil {
		return api.BulkAction{}, errors.Join(err, s.Runs.Remove(r.ID))
	}
	// From here on a missing bulk action means that it was removed, not that it never was. A crash before this write
	// is harmless: the bulk action exists, and findRun believes that over the flag.
	r.Accepted = true
	if err := s.Runs.Save(r); err != nil || !late {
		return b, err
	}
	return b, command.Fail(command.ExitInterrupted, "interrupted when the items had just been accepted", "continue with "+
		s.env.Program+" run --resume "+r.ID+s.Flag)
}
