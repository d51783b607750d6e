package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
)

// resumeRun resumes a run that an earlier process began.
func resumeRun(ctx context.Context, env *command.Env, o *runOptions, c catalogue) error {
	scr := env.Screen()
	r, b, err := pickUp(ctx, env, o, c, o.resume)
	if err != nil {
		return err
	}
	s, err := reopen(ctx, env, o, c, scr, r, &b)
	if err != nil {
		return err
	}
	x := &watch.Running{Run: r, Bulk: b, Resumed: &watch.Resumption{At: time.Now()}}
	if b.State.Final() {
		x.Over = true
		return s.conclusion(ctx, []*watch.Running{x}, 0)
	}
	left := b.Counts.Total - b.Counts.Done - b.Counts.Failed - b.Counts.Cancelled
	scr.Print(fmt.Sprintf("  %s    %s · %s of %s items to go", scr.Paint.Dim("resume"), b.ID, term.Number(left),
		term.Number(b.Counts.Total)))
	if err := s.goOn(ctx, o, x); err != nil {
		return errors.Join(err, s.Close())
	}
	return s.finish(ctx, time.Duration(o.runTimeout), []*watch.Running{x})
}

// goOn lets a run that was paused or stopped continue.
func (s *session) goOn(ctx context.Context, o *runOptions, x *watch.Running) error {
	p, err := s.Progress(ctx, x.Bulk.ID)
	if err != nil {
		return err
	}
	x.Resumed.Steps = p.Steps
	f, unknown := s.Service().Outlook.Forecast(ctx, x.Bulk.ID,
		api.ForecastRequest{}) // before it goes on: it may have ended a moment later
	f.Finish.P50 = time.Now().Add(time.Duration(f.Takes.P50))
	s.describe(x, &f, unknown)
	s.Start(ctx)
	if o.KeepTrying {
		yes := true
		if _, err := s.Change(ctx, x.Bulk.ID, api.Change{StopOn: &api.StopOnChange{KeepTrying: &yes},
			Reason: "--keep-trying"}); err != nil {
			return err
		}
	}
	switch x.Bulk.State {
	case api.Paused, api.Stopped:
		_, err = s.Resume(ctx, x.Bulk.ID, "resumed from the command line")
	case api.Awaiting:
		if o.approve {
			_, err = s.Approve(ctx, x.Bulk.ID, "approved from the command line")
		}
	}
	return err
}

// pickUp finds a run in a data directory: by its id, or the newest that has not ended. Without any it is the newest
// of all, whose report is then written again.
func pickUp(ctx context.Context, env *command.Env, o *runOptions, c catalogue, id string) (r *local.Run, b api.BulkAction,
	err error) {
	l, err := local.Open(ctx, env, o.data, local.Options{})
	if err != nil {
		return nil, b, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if id != Newest {
		return findRun(ctx, l, o, c, id)
	}
	ids, err := allRuns(ctx, l)
	if err != nil {
		return nil, b, command.Other(err, "")
	}
	if len(ids) == 0 {
		return nil, b, command.BadUsage("start one with "+env.Program+" run FILE", "no run found in %s", o.data)
	}
	for _, id := range ids {
		if r, b, err = findRun(ctx, l, o, c, id); err == nil && !b.State.Final() || err != nil && !errors.Is(err, weir.ErrNotFound) {
			return r, b, err
		}
	}
	return findRun(ctx, l, o, c, ids[0])
}

// allRuns lists the runs of a data directory, the newest first: those with a record, and those whose record was deleted.
func allRuns(ctx context.Context, l *local.Node) ([]string, error) {
	ids, err := l.Runs.Ids()
	if err != nil {
		return nil, err
	}
	to, err := link.ToNode(l)
	if err != nil {
		return nil, err
	}
	for b, err := range to.List(ctx, client.Filter{}) {
		if err != nil {
			return nil, err
		}
		if local.RunIn(&b) != "" {
			ids = append(ids, b.ID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	slices.Reverse(ids)
	return ids, nil
}

// findRun returns a run and its bulk action. One that was never accepted is forgotten.
func findRun(ctx context.Context, l *local.Node, o *runOptions, c catalogue, id string) (*local.Run, api.BulkAction, error) {
	r, lost := l.Runs.Get(id)
	if lost != nil && !errors.Is(lost, os.ErrNotExist) {
		return nil, api.BulkAction{}, command.Other(lost, "")
	}
	b, err := l.Service().Bulks.Get(ctx, id)
	switch {
	case errors.Is(err, weir.ErrNotFound) && lost == nil && !r.Accepted:
		err = command.BadUsage("run the same command again to start afresh",
			"the run over %s ended before its input was read: nothing was accepted", r.Input)
		return nil, b, errors.Join(err, l.Runs.Remove(id))
	case errors.Is(err, weir.ErrNotFound):
		return nil, b, fmt.Errorf("%w: %w", unknownRun(l, id), weir.ErrNotFound)
	case err == nil && lost != nil:
		r, err = recoverRun(l, o, c, &b)
	}
	return r, b, err
}

// recoverRun makes the record of a run anew that has its items but lost its file. Actions of the program are known. URLs
// have to be given by --url or --config: those of weir.yaml may be of another system by now.
func recoverRun(l *local.Node, o *runOptions, c catalogue, b *api.BulkAction) (*local.Run, error) {
	if local.RunIn(b) == "" {
		return nil, command.BadUsage(fmt.Sprintf("start %s serve --data %s, then use --server", l.Env.Program, term.Quote(l.Data)),
			"%s was submitted to a server, and only a server continues it", b.ID)
	}
	r := &local.Run{ID: b.ID, Input: b.Name, Actions: map[string]config.Step{}, Accepted: true, Rows: b.Counts.Total}
	for _, s := range b.Steps {
		a, err := c.find(s.Action)
		switch known := err == nil && (a.URL == "" || o.config != ""); {
		case !known && len(o.steps) == 0:
			return nil, command.BadUsage(fmt.Sprintf("give it again with %s run --resume %s%s, and --url URL or --config FILE",
				l.Env.Program, b.ID, l.DataFlag()),
				"%s has its items, but the file with the URL of %s was deleted", b.ID, s.Action)
		case !known:
			a.URL = o.steps[0].URL // corrected gives each its own
		}
		r.Actions[s.Action] = a
	}
	l.Env.Screen().Print("  the file of this run was deleted: limits such as --rate, and --report, are those of this command")
	return r, l.Runs.Save(r)
}

func unknownRun(l *local.Node, id string) error {
	return command.BadUsage(l.Env.Program+" list"+l.DataFlag()+" shows the runs there", "run %q not found in %s", id, l.Data)
}

// reopen opens the node of a run with its actions, as flags change them. Corrected endpoints
// are kept: a later process needs them, too.
func reopen(ctx context.Context, env *command.Env, o *runOptions, c catalogue, scr *term.Screen, r *local.Run,
	b *api.BulkAction) (*session, error) {
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
	r.Results = o.Results.Over(r.Results)
	s.Run = local.RunIn(b)
	if o.corrects() {
		if err := s.Runs.Save(&kept); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}
