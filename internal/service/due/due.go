// Package due does durable work when it is due: it finds jobs in records, starts them on time, and
// comes back to them.
//
// The records hold the truth. A [Runner] only remembers what is due next, so it may forget anything
// and any number of nodes may run one on the same records:
//
//	find       Options.Find lists jobs, now and then and after [Runner.Wake]: those from before a
//	           restart, those of other nodes, and those that are due later
//	claim      Options.Work writes into the job's record that it is at work ([Claim], or a note of
//	           its own). The compare-and-swap of the record decides between nodes
//	do, note   Work does the job and writes the result into the same record
//	come back  Work returns when there is something to do again
//
// A crash between claim and note leaves the claim, which ends by itself; then the job is found and
// done again. So the effect of a job must be the same if it is repeated.
package due

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// ErrStopped is the cause of a context that ends because the runner stops.
var ErrStopped = errors.New("told to stop")

// Job is something to do at a time. Of is what Work needs to know of it.
type Job[T any] struct {
	ID string
	At time.Time
	// Target and Host bound how many run at once; see [Options].
	Target, Host string
	Of           T

	failures int // in a row
}

// Before orders jobs by time.
func (j Job[T]) Before(o Job[T]) bool { return j.At.Before(o.At) }

// Next says when to come back to a job. The zero value leaves that to the next Find.
type Next struct {
	at   time.Time
	hold bool
}

// At comes back at a time, or earlier if Find says so.
func At(t time.Time) Next { return Next{at: t} }

// Hold comes back at a time, and not earlier, whatever Find says.
func Hold(t time.Time) Next { return Next{t, true} }

// Options configures [New]. Find, Work and Every are required.
type Options[T any] struct {
	// Find yields the jobs of this node. A job that is under way or held is left alone. An error is
	// logged, and the jobs after it are still taken.
	Find func(ctx context.Context) iter.Seq2[Job[T], error]
	// Work claims a job, does it and notes the result. After an error the job is held for a while, which
	// doubles with every error in a row. Its context ends with the cause [ErrStopped].
	Work func(ctx context.Context, j Job[T]) (Next, error)
	// Every is the interval between two calls of Find. The pause after a call is at least Share times
	// as long as the call took, to spare the store.
	Every time.Duration
	Share int
	// AtOnce bounds the jobs under way, PerTarget those of a target, PerHost those of a host. Default: no
	// bound.
	AtOnce, PerTarget, PerHost int
	// DrainFor is how long jobs may go on after Run was told to stop. Default: not at all.
	DrainFor time.Duration
	// Now is the clock of the jobs. Default time.Now.
	Now func() time.Time
	// Name says in the log what the jobs are, as in "deliveries".
	Name   string
	Logger *slog.Logger
}

// Bounds of the hold after errors.
const (
	firstHold = time.Second
	maxHold   = 10 * time.Second
)

// Runner starts jobs when they are due. Its methods may be called from several goroutines.
type Runner[T any] struct {
	opts  Options[T]
	mu    sync.Mutex // guards queue; held only while it changes
	queue *queue[T]
	moved chan struct{} // the queue has changed
	wake  chan struct{} // find now
	rest  atomic.Int64  // nanoseconds between the last Find and the next
}

// New returns a runner that does not run yet.
func New[T any](o Options[T]) *Runner[T] {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &Runner[T]{
		opts: o, queue: newQueue[T](o.AtOnce, o.PerTarget, o.PerHost),
		moved: make(chan struct{}, 1), wake: make(chan struct{}, 1),
	}
}

// Run starts due jobs until ctx ends. Jobs under way may then go on for DrainFor. Every goroutine it
// started has ended when it returns.
func (r *Runner[T]) Run(ctx context.Context) {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var running, finding sync.WaitGroup
	finding.Go(func() { r.findOften(ctx) })
	r.startDue(ctx, work, &running)
	finding.Wait()
	late := time.AfterFunc(r.opts.DrainFor, func() { stop(ErrStopped) })
	defer late.Stop()
	running.Wait()
}

// Add adds jobs that the caller knows of, before Find does.
func (r *Runner[T]) Add(jobs ...Job[T]) {
	r.mu.Lock()
	for _, j := range jobs {
		r.queue.add(j, false)
	}
	r.mu.Unlock()
	signal(r.moved)
}

// Wake has Find called now.
func (r *Runner[T]) Wake() { signal(r.wake) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is awake already
	}
}

// ahead is how far ahead jobs are held in memory: enough that Find is called again before the jobs
// left in the store are due.
func (r *Runner[T]) ahead() time.Duration { return max(2*r.opts.Every, 2*time.Duration(r.rest.Load())) }

// findOften looks for jobs again and again.
func (r *Runner[T]) findOften(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		r.find(ctx)
		rest := max(r.opts.Every, time.Duration(r.opts.Share)*time.Since(began))
		r.rest.Store(int64(rest))
		timer := time.NewTimer(rest)
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (r *Runner[T]) find(ctx context.Context) {
	until := r.opts.Now().Add(r.ahead())
	for j, err := range r.opts.Find(ctx) {
		switch {
		case err != nil:
			r.complain(ctx, "", err)
		case !j.At.After(until):
			r.Add(j)
		}
	}
}

// complain logs an error, unless the runner was stopped.
func (r *Runner[T]) complain(ctx context.Context, id string, err error) {
	if ctx.Err() == nil {
		r.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "cannot proceed, will retry", slog.String("with", r.opts.Name),
			slog.String("id", id), slog.Any("error", err))
	}
}

// startDue starts jobs as they become due and places become free.
func (r *Runner[T]) startDue(ctx, work context.Context, running *sync.WaitGroup) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		r.mu.Lock()
		j, ok := r.queue.next(r.opts.Now())
		at, later := r.queue.wakeAt()
		r.mu.Unlock()
		if ok {
			running.Go(func() { r.work(work, j) })
			continue
		}
		wait := r.opts.Every // at most, so that a change of the clock is noticed
		if later {
			wait = min(wait, max(at.Sub(r.opts.Now()), 0))
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-r.moved:
		case <-timer.C:
		}
	}
}

// work does a job, and queues it again if it is due before the next Find but one.
func (r *Runner[T]) work(ctx context.Context, j Job[T]) {
	next, err := r.opts.Work(ctx, j)
	if err != nil {
		r.complain(ctx, j.ID, err)
		next = Hold(r.opts.Now().Add(min(maxHold, firstHold<<min(j.failures, 10))))
		j.failures++
	} else {
		j.failures = 0
	}
	r.mu.Lock()
	r.queue.done(j)
	j.At = next.at
	if !j.At.IsZero() && (next.hold || j.At.Sub(r.opts.Now()) <= r.ahead()) {
		r.queue.add(j, next.hold)
	}
	r.mu.Unlock()
	signal(r.moved)
}
