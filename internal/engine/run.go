package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/engine/spans"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// run is one task in a slot. The loop makes it and is told of its end exactly
// once: by the goroutine that ran it, or by the loop itself when it gave up on
// it. It is never reused: a careless handler may keep its task or its context.
type run struct {
	part     *part
	cut      *partition.Task // not to be touched once reported: the machine reuses it
	block    *stored.Entry   // where its items are
	task     weir.Task
	result   partition.Result
	ctx      runContext
	at       int // in part.running
	started  int64
	reported atomic.Bool
	orphan   atomic.Bool // its partition is gone
	expired  int64       // when the loop cancelled it; 0: not
	span     *spans.Task // nil: its bulk action is not traced
	uncalled bool        // it did not come to a call: its end says nothing of the downstream

	item    [1]weir.TaskItem // saves a small task two allocations
	outcome [1]weir.Outcome
}

// start runs a task in a goroutine of its own: a slot is a count, not a parked worker.
func (p *part) start(ctx context.Context, now int64, t *partition.Task) {
	now = t.Start(now)
	r := &run{part: p, cut: t, started: now, at: len(p.running)}
	r.block = p.block(stored.Key{ID: t.StoredAs, No: t.StoredNo})
	r.ctx.Context, r.span = p.engine.spans.Task(ctx, t, p.no, now) // a level per task at most, not nested
	r.ctx.timeout = t.Step.Timeout
	r.ctx.deadline.Store(now + int64(t.Step.Timeout))
	p.running = append(p.running, r)
	go r.work()
}

func (r *run) work() {
	if err := r.prepare(); err != nil {
		r.unprepared(err)
		return
	}
	if r.cut.Filter {
		execute.Run(&r.ctx, r.cut.Step.Filter, &r.task, r.finish)
		return
	}
	if err := r.mayCall(time.Now()); err != nil { // the process was held up before the task could start
		r.uncalled = true
		r.finish(&weir.RefusedError{After: time.Second, Err: err})
		return
	}
	r.span.Call(time.Now())
	execute.Run(&r.ctx, r.cut.Step.Handle, &r.task, r.finish)
}

var (
	errUnsure   = errors.New("the lease of the partition may have run out")
	errOutdated = errors.New("the limits may have been changed")
)

// mayCall reports what the task was started on that may not hold any more.
func (r *run) mayCall(now time.Time) error {
	switch {
	case !r.part.Sure(now):
		return errUnsure
	case !r.part.engine.limits.Current(now):
		return errOutdated
	}
	return nil
}

// finish tells the loop how the task ended, unless the loop has given up on it.
func (r *run) finish(err error) {
	r.ctx.cancel(context.Canceled)
	if r.reported.Swap(true) {
		if r.orphan.Swap(false) {
			r.part.machine.Abandon(time.Now().UnixNano(), r.cut)
		} else {
			r.part.engine.counts.Late.Add(1)
		}
		return
	}
	var f *partition.Failure
	if err != nil {
		f = failureOf(err)
		f.Uncalled = r.uncalled || f.Code == execute.CodeCancelled
		f.Ours = f.Ours || r.uncalled
	}
	now := time.Now()
	r.span.End(r.cut, &r.task, f, now)
	r.result = partition.Result{
		Task: r.cut, Outcomes: r.task.Outcomes, Failure: f, Service: now.UnixNano() - r.started,
		Rejected: f == nil && execute.Rejected(&r.task),
	}
	r.part.mail.put(input{run: r})
}

// unprepared ends a task whose items could not be read. A store that does not
// answer is no fault of the items; data that is damaged or gone stops the
// partition, openly.
func (r *run) unprepared(err error) {
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrNotFound) && !r.part.engine.past.MayReturn(r.cut.Bulk) {
		r.part.mail.put(input{err: fmt.Errorf("partition %d: read items: %w", r.part.no, err)})
	}
	r.uncalled = true
	r.finish(&weir.RefusedError{After: time.Second, Err: err})
}

// prepare fills in the task: its items and what the step before answered.
func (r *run) prepare() error {
	t, p := r.cut, r.part
	items, err := p.engine.cache.Open(&r.ctx, t.Home(p.no), r.block)
	if err != nil {
		return err
	}
	k := &r.task
	k.Bulk, k.Tenant, k.Step, k.StepNo, k.Action = t.Bulk, t.Tenant, t.Step.Name, t.StepNo, t.Step.Action
	k.Attempt, k.Deadline = t.Attempt, time.Unix(0, r.ctx.deadline.Load())
	k.Heartbeat = r.ctx.extend
	k.Items, k.Outcomes = r.item[:0], r.outcome[:]
	if n := len(t.Items); n > 1 {
		k.Items, k.Outcomes = make([]weir.TaskItem, 0, n), make([]weir.Outcome, n)
	}
	missing := false
	for i, at := range t.Items {
		it := weir.TaskItem{No: t.Base + int64(at), ID: items.ID(int(at)), Data: items.Data(int(at))}
		if t.StepNo > 0 && !t.Filter {
			it.Previous = t.Previous[i]
			missing = missing || it.Previous == nil
		}
		k.Items = append(k.Items, it)
	}
	if missing && t.Reload {
		if err := r.loadPrevious(k.Items); err != nil {
			return err
		}
	}
	return r.prepareMore()
}

// prepareMore fills in what few tasks have: idempotency keys of another bulk
// action, and what steps before the last one answered.
func (r *run) prepareMore() (err error) {
	t, k := r.cut, &r.task
	if t.KeysOf != "" && !t.Filter {
		k.KeysOf = t.KeysOf
		if k.KeyNos, err = r.keys(); err != nil {
			return err
		}
	}
	if len(t.Step.Needs) > 0 {
		k.Output, err = r.outputs()
	}
	return err
}

// ended takes the result of a task into the machine.
func (p *part) ended(now int64, r *run) {
	p.forget(r)
	if !r.cut.Filter {
		p.counter.Task(r.cut, r.started, r.result.Service)
	}
	p.machine.Result(now, &r.result)
}

// forget takes a run off the list of running ones.
func (p *part) forget(r *run) {
	last := len(p.running) - 1
	p.running[r.at] = p.running[last]
	p.running[r.at].at = r.at
	p.running[last] = nil
	p.running = p.running[:last]
}

// block finds the place of a block in the cache. Tasks mostly come from the same
// block as the one before.
func (p *part) block(key stored.Key) *stored.Entry {
	if p.opened == nil || p.recent != key || p.opened.Broken() {
		p.recent, p.opened = key, p.engine.cache.Entry(key)
	}
	return p.opened
}

// checkDeadlines cancels tasks that have run out of time, and gives up on those
// that do not return after that.
func (p *part) checkDeadlines(now int64) {
	for i := len(p.running) - 1; i >= 0; i-- { // from the end: giving up on one moves the last to its place
		r := p.running[i]
		switch {
		case r.expired == 0 && now > r.ctx.deadline.Load():
			r.expired = now
			r.ctx.cancel(context.DeadlineExceeded)
		case r.expired != 0 && now > r.expired+int64(p.engine.opts.Grace) && !r.reported.Swap(true):
			r.result = partition.Result{Task: r.cut, Lost: true, Service: now - r.started, Failure: &partition.Failure{
				Code: "timeout", Message: "the handler did not return after its timeout",
			}}
			r.span.End(r.cut, nil, r.result.Failure, time.Unix(0, now)) // the handler may still write its outcomes
			p.ended(now, r)
		}
	}
}

// abandonAll cancels what still runs when the partition is gone: it will be run
// again by the next owner. Until it returns it counts against the limits of this
// node, or until Grace is over.
func (p *part) abandonAll() {
	for _, r := range p.running {
		r.orphan.Store(true)
		if !r.reported.Swap(true) {
			time.AfterFunc(p.engine.opts.Grace, func() { r.finish(nil) })
		} else { // it ended after the loop did
			r.finish(nil)
		}
		r.ctx.cancel(context.Canceled)
	}
}

// ours are the failures that no downstream is to blame for.
var ours = []string{execute.CodePanic, execute.CodeHandlerBug, execute.CodeTooLarge, execute.CodeCancelled}

// failureOf says what the failure of a whole task means for its items.
func failureOf(err error) *partition.Failure {
	code := execute.Code(err)
	f := &partition.Failure{Code: code, Message: err.Error(), Ours: slices.Contains(ours, code),
		BadAnswer: code == execute.CodeBadAnswer, Undone: execute.Undone(err)}
	if refused, ok := weir.AsRefused(err); ok {
		f.Refused, f.OfTenant, f.After = true, refused.OfTenant, refused.After
	}
	var wrong *execute.EndpointError
	if errors.As(err, &wrong) {
		f.Misconfigured = wrong.Misconfigured
	}
	return f
}

// runContext is a task's context. It costs nothing until a handler waits on it:
// deadlines are watched by the loop, not by a timer per task.
type runContext struct {
	context.Context // for values alone
	timeout         time.Duration
	deadline        atomic.Int64
	mu              sync.Mutex
	done            chan struct{}
	err             error
}

// extend is the task's heartbeat.
func (c *runContext) extend() { c.deadline.Store(time.Now().UnixNano() + int64(c.timeout)) }

// Deadline is the end of the task's time as it stands now.
func (c *runContext) Deadline() (time.Time, bool) { return time.Unix(0, c.deadline.Load()), true }

// Done is closed when the task's time is over or the engine gives up on it.
func (c *runContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err tells why Done is closed.
func (c *runContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// cancel ends the context, once.
func (c *runContext) cancel(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
}
