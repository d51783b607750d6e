package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/pebblestore"
)

// defaultData is the data directory in the working directory.
const defaultData = ".weir"

// minFree is the free disk space that a run needs to begin.
const minFree = 256 << 20

// session is an engine on the store of a data directory, and the jobs beside it.
type session struct {
	env   *Env
	data  string // as the user wrote it
	store *pebblestore.Store
	jobs  jobs
	began time.Time
	worker
	broken chan error // the store can no longer be trusted
}

// worker is an engine and its Run in the background.
type worker struct {
	engine *engine.Engine
	stop   context.CancelFunc
	over   chan error // how Run ended
}

// openSession opens a data directory. With make unset it must be there already.
func openSession(ctx context.Context, env *Env, data string, o engine.Options, create bool) (*session, error) {
	dir := env.path(data)
	if _, err := os.Stat(dir); !create && errors.Is(err, os.ErrNotExist) {
		return nil, badUsage("name the data directory of the run with --data", "%s is not a data directory", data)
	}
	s := &session{env: env, data: data, began: time.Now(), jobs: jobs{filepath.Join(dir, "runs")}, broken: make(chan error, 1)}
	if err := os.MkdirAll(s.jobs.dir, 0o700); err != nil {
		return nil, badUsage("choose another place with --data", "data directory: %v", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	st, err := pebblestore.Open(filepath.Join(dir, "store"), pebblestore.Options{
		Logger: o.Logger, MinFree: minFree, Ballast: -1,
		OnFatal: func(err error) {
			select {
			case s.broken <- err:
			default: // the first tells enough
			}
		},
	})
	if errors.Is(err, errLocked) {
		return nil, &failure{exitOther, data + ": another process is using this data directory", "wait for it to end, or choose another directory with --data"}
	}
	if err != nil {
		return nil, other(err, "choose another data directory with --data, or repair this one")
	}
	s.store = st
	if s.engine, err = engine.Open(ctx, st, o); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return s, nil
}

// register makes a job's chain known to the engine, and no other: stored bulk
// actions of other jobs stay as they are.
func (s *session) register(c catalogue, j *job) ([]weir.Step, error) {
	steps, err := c.steps(j.Chain)
	if err != nil {
		return nil, err
	}
	return steps, s.engine.Handle(weir.Raw(j.ChainKey, steps...))
}

// start lets the engine work until it is told to stop.
func (w *worker) start(ctx context.Context) {
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.over = make(chan error, 1)
	go func() { w.over <- w.engine.Run(ctx) }()
}

// end lets running tasks finish. It can be called twice.
func (w *worker) end() error {
	if w.stop == nil {
		return nil
	}
	w.stop()
	w.stop = nil
	return <-w.over
}

// close ends engine and store.
func (s *session) close() error { return errors.Join(s.end(), s.store.Close()) }

// patience limits how long a bulk action may take to appear after a restart: its
// partition has to read it first.
const patience = 3 * time.Second

// find returns a bulk action that an earlier process submitted.
func (s *session) find(ctx context.Context, id weir.BulkID) (*engine.BulkAction, error) {
	for until := time.Now().Add(patience); ; {
		ba, err := s.engine.Get(ctx, id)
		if err == nil || !errors.Is(err, weir.ErrNotFound) || time.Now().After(until) {
			return ba, err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// job finds the job of a bulk action.
func (s *session) job(id weir.BulkID) (*job, error) {
	all, err := s.jobs.all()
	if err != nil {
		return nil, other(err, "")
	}
	for _, j := range all {
		if j.ID == id && id != "" {
			return j, nil
		}
	}
	return nil, badUsage(s.env.Program+" list"+s.dataFlag()+" shows the runs there", "run %q not found in %s", id, s.data)
}

// unfinished returns the newest job that can be resumed: one that was being submitted
// when its process died, or one whose bulk action has not ended. Without any it
// is the newest of all, whose report is then written again.
func (s *session) unfinished(ctx context.Context) (*job, error) {
	all, err := s.jobs.all()
	if err != nil {
		return nil, other(err, "")
	}
	if len(all) == 0 {
		return nil, badUsage("start one with "+s.env.Program+" run FILE", "no run found in %s", s.data)
	}
	for i := len(all) - 1; i >= 0; i-- {
		j := all[i]
		if j.ID == "" {
			return j, nil
		}
		ba, err := s.engine.Get(ctx, j.ID)
		if errors.Is(err, weir.ErrNotFound) {
			return j, nil // accepted, and not read yet
		}
		if err != nil {
			return nil, err
		}
		if p, err := ba.Now(ctx); err != nil || !p.State.Final() {
			return j, err
		}
	}
	return all[len(all)-1], nil
}

// lost is the job whose process died while it was being submitted, or nil. The
// store allows one process at a time, so there is at most one.
func (s *session) lost() (*job, error) {
	all, err := s.jobs.all()
	for _, j := range all {
		if j.ID == "" {
			return j, err
		}
	}
	return nil, err
}

// adopt settles a lost job: either its bulk action was accepted, and is found by
// having no job yet, or it never came to be and is forgotten, with an empty ID.
func (s *session) adopt(ctx context.Context, lost *job) error {
	for until := time.Now().Add(patience / 3); time.Now().Before(until); {
		id, err := s.orphan(ctx, lost.Name)
		if err != nil {
			return err
		}
		if id != "" {
			lost.ID = id
			return s.jobs.save(lost)
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return s.jobs.remove(lost.Key)
}

// orphan is a bulk action of that name that no job knows.
func (s *session) orphan(ctx context.Context, name string) (weir.BulkID, error) {
	for ba, err := range s.engine.List(ctx) {
		if err != nil {
			return "", err
		}
		if _, err := s.job(ba.ID()); err == nil {
			continue
		}
		rep, err := ba.Report(ctx)
		if err != nil {
			return "", err
		}
		if rep.Name == name && rep.RetryOf == "" {
			return ba.ID(), nil
		}
	}
	return "", nil
}

// dataFlag is the flag that names the data directory in a command to be repeated.
func (s *session) dataFlag() string {
	if s.data == defaultData && !s.env.hasServer() {
		return ""
	}
	return fmt.Sprintf(" --data %s", quote(s.data))
}

// sleep waits, or returns early with ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
