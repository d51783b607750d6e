package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
)

// session is a node in this process that works on runs until they have ended.
type session struct {
	env *command.Env
	*local.Node
	*link.Link
	screen *term.Screen
	steps  []weir.Step // the actions of the runs
}

func openSession(ctx context.Context, env *command.Env, o *runOptions, scr *term.Screen, steps []weir.Step,
	create bool) (*session, error) {
	log := slog.New(shownElsewhere{slog.NewTextHandler(scr, &slog.HandlerOptions{Level: slog.LevelWarn})})
	l, err := local.Open(ctx, env, o.data, local.Options{Create: create, Steps: steps, Slots: o.slots, Log: log})
	if err != nil {
		return nil, err
	}
	to, err := link.ToNode(l)
	return &session{env: env, Node: l, Link: to, screen: scr, steps: steps}, err
}

// cloneWith returns the actions of a run with the flags for every step over them.
func cloneWith(r *local.Run, o *runOptions) map[string]config.Step {
	all := maps.Clone(r.Actions)
	for name, a := range all {
		override(&a, &o.each)
		all[name] = a
	}
	return all
}

// describe prints the chain of a run and its forecast.
func (s *session) describe(x *watch.Running, f *api.Forecast, err error) {
	s.screen.Print(watch.ChainLine(s.screen.Paint, inChain(s.steps, x.Bulk.Steps)))
	switch {
	case err != nil:
		s.Say("no forecast: %v", err)
	case f.EndedAt.IsZero(): // else it has ended meanwhile
		x.Forecast = time.Duration(f.Takes.P50)
		s.screen.Print(watch.ForecastLine(s.screen.Paint, f))
	}
}

// finish watches runs to their end, writes their reports, prints the
// summaries, and closes the session. What it returns carries the exit code.
func (s *session) finish(ctx context.Context, limit time.Duration, all []*watch.Running) error {
	w := &watch.Watcher{Link: s.Link, Screen: s.screen, Began: time.Now(), Limit: limit, Here: &s.Worker, Broken: s.Broken}
	for _, r := range all {
		w.Tracks = append(w.Tracks, &watch.Track{ID: r.Bulk.ID, Label: r.Bulk.Name, Steps: inChain(s.steps, r.Bulk.Steps),
			Since: w.Began, Deadline: r.Bulk.Deadline, Now: api.Progress{Counts: r.Bulk.Counts}})
	}
	why, err := w.Run(ctx)
	if err != nil {
		return err
	}
	switch why {
	case watch.AllEnded:
	case watch.Aborted:
		s.sayResume(all, "aborted; tasks in flight run again")
		return command.Ended(command.ExitInterrupted)
	case watch.Drained, watch.TimedOut:
		return s.interrupted(all, why)
	case watch.Detached: // only from a server
	}
	if err := s.End(); err != nil { // running calls have ended: the report is complete
		return errors.Join(err, s.Close())
	}
	return s.conclusion(ctx, all, time.Since(w.Began))
}

// conclusion writes reports, prints summaries, and closes the session.
func (s *session) conclusion(ctx context.Context, all []*watch.Running, took time.Duration) error {
	ctx, cancel := s.env.UntilSignal(ctx)
	defer cancel()
	code := command.ExitOK
	for _, r := range all {
		c, err := watch.Conclude(ctx, s.Link, s.screen, r)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		code = max(code, c)
	}
	if all[0].Over {
		code = command.ExitOK
	}
	return errors.Join(command.Ended(code), s.Close())
}

// interrupted ends a session that was told to stop. The bulk actions may have ended all the same.
func (s *session) interrupted(all []*watch.Running, why watch.End) error {
	if err := s.Close(); err != nil {
		return err
	}
	s.sayResume(all, "stopped; all results are saved")
	code := command.ExitInterrupted
	if why == watch.TimedOut {
		code = command.ExitTimeout
	}
	return command.Ended(code)
}

func (s *session) sayResume(all []*watch.Running, what string) {
	s.screen.Print("", "  "+s.screen.Paint.Yellow("‖")+" "+what)
	for _, r := range all {
		s.screen.Print(fmt.Sprintf("    resume         %s run --resume %s%s", s.env.Program, r.Bulk.ID, s.Flag))
	}
}
