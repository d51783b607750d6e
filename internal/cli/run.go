package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/store/memstore"
)

func runCommand() command {
	return command{
		use: "run FILE|-", short: "run actions over the items of a file and write a report",
		long: `Reads items from a file (CSV, NDJSON or JSON, also as gzip or zstd; - is stdin), runs a chain of
actions over them, and writes a report. No server is needed: the command is a node of its own, and its state is kept in
the folder .weir. It listens on no port. get, errors, items, item, retry and the other commands for bulk actions work
there, too.

--resume continues an interrupted run. If a URL was wrong, correct it with --resume and --url or --config: done items
stay done, and items keep their idempotency keys.

Exit codes: 0 all items are done, or nothing to resume · 2 usage, configuration or input · 5 ended, some items failed ·
6 stopped by --stop-failures, because no call succeeded, or for the approval of a canary · 7 --run-timeout was reached ·
130 interrupted · 1 any other error`,
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
	r := &run{Input: o.Input, results: o.results}
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

// dryRun reads and checks everything, and runs nothing.
func dryRun(ctx context.Context, env *Env, o *runOptions, steps []weir.Step) error {
	in, err := waitInput(env, &o.bulkOptions, discard{})
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
	l, err := openMemory(ctx, env, memstore.New(memstore.Options{}), localOptions{steps: steps, slots: o.slots})
	if err != nil {
		return err
	}
	f, err := l.node.Service().Outlook.ForecastNew(ctx, o.spec, in.items.Load(), o.slots)
	if err != nil {
		return errors.Join(err, l.close())
	}
	scr.print(in.line(scr.paint), chainLine(scr.paint, inChain(steps, o.spec.Steps)), forecastLine(scr.paint, &f), "",
		"  dry run: nothing was run")
	return l.close()
}

// newRun reads the input into the store, and runs it.
func newRun(ctx context.Context, env *Env, o *runOptions, r *run, steps []weir.Step) error {
	scr := newScreen(env)
	lists := &rowFiles{}
	in, err := waitInput(env, &o.bulkOptions, lists)
	if err != nil {
		return err
	}
	defer in.reader.Close()
	s, err := openSession(ctx, env, o, scr, steps, true)
	if err != nil {
		return err
	}
	if r.ID, err = s.node.Service().Drafts.NewID(ctx, cmp.Or(o.spec.Tenant, "default")); err == nil {
		err = o.mark(r.ID)
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	lists.runs, lists.id, s.run = s.runs, r.ID, r.ID
	s.start(ctx)
	x := &running{run: r}
	var forecast api.Forecast
	var unknown error
	read := func() error { // before it is accepted: it may have ended a moment later
		forecast, unknown = s.node.Service().Outlook.ForecastNew(ctx, o.spec, in.items.Load(), o.slots)
		return lists.close()
	}
	if x.bulk, err = s.submit(ctx, o, r, in, read); err != nil {
		return giveUp(s, errors.Join(err, lists.close()))
	}
	scr.print(in.line(scr.paint))
	s.describe(x, &forecast, unknown)
	return s.finish(ctx, time.Duration(o.runTimeout), []*running{x})
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
func (s *session) submit(ctx context.Context, o *runOptions, r *run, in *input, read func() error) (b api.BulkAction, err error) {
	if err := s.runs.save(r); err != nil {
		return b, err
	}
	finish := func() error {
		r.Rows, r.Duplicates, r.Invalid = in.rows.Load(), in.repeated.Load(), in.bad.Load()
		return errors.Join(read(), s.runs.save(r))
	}
	spec := o.spec
	spec.Duplicates, spec.ItemID = "keep_all", in.reader.Detected().IDColumn // compared here, where lines are known
	if o.deadline.FromStart() {
		spec.Deadline = o.deadline.From(time.Now())
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var err error
		b, err = s.node.Service().Bulks.Create(reading, spec, draft.Made{ID: r.ID, Items: in.all(finish)})
		done <- err
	}()
	err = showReading(s.env, s.screen, in, done)
	late := interrupted(err)
	if late {
		cancel()
		err = whatNow(done, err, patience)
	}
	if err != nil {
		return api.BulkAction{}, errors.Join(err, s.runs.remove(r.ID))
	}
	r.Accepted = true
	if err := s.runs.save(r); err != nil || !late {
		return b, err
	}
	return b, &failure{exitInterrupted, "interrupted when the items had just been accepted", "continue with " +
		s.env.Program + " run --resume " + r.ID + s.flag}
}

// patience limits how long an interrupted submit may take to end.
const patience = time.Second

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
func waitInput(env *Env, o *bulkOptions, lists rowLists) (in *input, err error) {
	done := make(chan struct{})
	go func() {
		in, err = openInput(env, &o.inputOptions, lists)
		close(done)
	}()
	select {
	case <-done:
		if err == nil {
			in.unasked = o.unasked
		}
		return in, err
	case <-env.Signals:
		return nil, errReading()
	}
}

// errReading is an interrupt before the input was read to its end.
func errReading() error {
	return &failure{exitInterrupted, "interrupted while the input was being read: nothing was accepted",
		"run the same command again to start afresh"}
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

// resumeRun resumes a run that an earlier process began.
func resumeRun(ctx context.Context, env *Env, o *runOptions, c catalogue) error {
	scr := newScreen(env)
	r, b, err := pickUp(ctx, env, o.data, o.resume)
	if err != nil {
		return err
	}
	s, err := reopen(ctx, env, o, c, scr, r, &b)
	if err != nil {
		return err
	}
	x := &running{run: r, bulk: b, resumed: &resumption{at: time.Now()}}
	if b.State.Final() {
		x.over = true
		return s.conclusion(ctx, []*running{x}, 0)
	}
	left := b.Counts.Total - b.Counts.Done - b.Counts.Failed - b.Counts.Cancelled
	scr.print(fmt.Sprintf("  %s    %s · %s of %s items to go", scr.paint.dim("resume"), b.ID, number(left), number(b.Counts.Total)))
	if err := s.goOn(ctx, o, x); err != nil {
		return errors.Join(err, s.close())
	}
	return s.finish(ctx, time.Duration(o.runTimeout), []*running{x})
}

// goOn lets a run that was paused or stopped continue.
func (s *session) goOn(ctx context.Context, o *runOptions, x *running) error {
	p, err := s.Progress(ctx, x.bulk.ID)
	if err != nil {
		return err
	}
	x.resumed.steps = p.Steps
	f, unknown := s.node.Service().Outlook.Forecast(ctx, x.bulk.ID,
		api.ForecastRequest{}) // before it goes on: it may have ended a moment later
	f.Finish.P50 = time.Now().Add(time.Duration(f.Takes.P50))
	s.describe(x, &f, unknown)
	s.start(ctx)
	if o.keepTrying {
		yes := true
		if _, err := s.Change(ctx, x.bulk.ID, api.Change{StopOn: &api.StopOnChange{KeepTrying: &yes}, Reason: "--keep-trying"}); err != nil {
			return err
		}
	}
	switch x.bulk.State {
	case api.Paused, api.Stopped:
		_, err = s.Resume(ctx, x.bulk.ID, "resumed from the command line")
	case api.Awaiting:
		if o.approve {
			_, err = s.Approve(ctx, x.bulk.ID, "approved from the command line")
		}
	}
	return err
}

// pickUp finds a run in a data directory: by its id, or the newest that has not ended. Without any it is the newest
// of all, whose report is then written again.
func pickUp(ctx context.Context, env *Env, data, id string) (r *run, b api.BulkAction, err error) {
	l, err := openLocal(ctx, env, data, localOptions{})
	if err != nil {
		return nil, b, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if id != newest {
		return l.find(ctx, id)
	}
	ids, err := l.runs.ids()
	if err != nil {
		return nil, b, other(err, "")
	}
	if len(ids) == 0 {
		return nil, b, badUsage("start one with "+env.Program+" run FILE", "no run found in %s", data)
	}
	for _, id := range ids {
		if r, b, err = l.find(ctx, id); err == nil && !b.State.Final() || err != nil && !errors.Is(err, weir.ErrNotFound) {
			return r, b, err
		}
	}
	return l.find(ctx, ids[0])
}

// find returns a run and its bulk action. One that was never accepted is forgotten.
func (l *local) find(ctx context.Context, id string) (*run, api.BulkAction, error) {
	r, err := l.runs.get(id)
	if errors.Is(err, os.ErrNotExist) {
		return nil, api.BulkAction{}, l.unknown(id)
	}
	if err != nil {
		return nil, api.BulkAction{}, other(err, "")
	}
	b, err := l.node.Service().Bulks.Get(ctx, id)
	switch {
	case errors.Is(err, weir.ErrNotFound) && !r.Accepted:
		err = badUsage("run the same command again to start afresh",
			"the run over %s ended before its input was read: nothing was accepted", r.Input)
		return nil, b, errors.Join(err, l.runs.remove(id))
	case errors.Is(err, weir.ErrNotFound):
		return nil, b, fmt.Errorf("%w: %w", l.unknown(id), weir.ErrNotFound)
	}
	return r, b, err
}

func (l *local) unknown(id string) error {
	return badUsage(l.env.Program+" list"+l.dataFlag()+" shows the runs there", "run %q not found in %s", id, l.data)
}

// reopen opens the node of a run with its actions, as flags change them. Corrected endpoints
// are kept: a later process needs them, too.
func reopen(ctx context.Context, env *Env, o *runOptions, c catalogue, scr *screen, r *run, b *api.BulkAction) (*session, error) {
	var err error
	if r.Actions, err = o.corrected(c, r.Actions, b.Steps); err != nil {
		return nil, err
	}
	kept := *r
	now := cloneWith(r, o)
	steps, err := c.steps(now)
	if err != nil {
		return nil, err
	}
	s, err := openSession(ctx, env, o, scr, steps, false)
	if err != nil {
		return nil, err
	}
	r.results = o.results.over(r.results)
	s.run = runIn(b)
	if o.corrects() {
		if err := s.runs.save(&kept); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}
