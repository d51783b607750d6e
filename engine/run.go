package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/execute"
	"github.com/weirhq/weir/internal/partition"
)

// run is one task in a slot. The loop makes it and is told of its end exactly
// once: by the goroutine that ran it, or by the loop itself when it gave up on it.
type run struct {
	part     *part
	cut      *partition.Task // not to be touched once reported: the machine reuses it
	handle   weir.Handler
	done     func(error) // finish
	task     weir.Task
	result   partition.Result
	ctx      runContext
	started  int64
	timeout  int64
	deadline atomic.Int64
	reported atomic.Bool
	expired  int64 // when the loop cancelled it; 0: not
}

// runs are reused: a task costs no allocation of ours but its goroutine.
var runs = sync.Pool{New: func() any {
	r := &run{}
	r.done, r.task.Heartbeat = r.finish, r.heartbeat
	return r
}}

// start runs a task in a goroutine of its own: a slot is a count, not a parked worker.
func (p *part) start(ctx context.Context, now int64, t *partition.Task) {
	r := runs.Get().(*run)
	r.part, r.cut, r.started, r.expired = p, t, now, 0
	r.handle = t.Step.Handle
	r.reported.Store(false)
	r.timeout = int64(t.Step.Timeout)
	r.deadline.Store(now + r.timeout)
	r.ctx.reset(ctx, r)
	p.running[r] = struct{}{}
	go r.work()
}

func (r *run) work() {
	if err := r.prepare(); err != nil {
		r.finish(err)
		return
	}
	execute.Run(&r.ctx, r.handle, &r.task, r.done)
}

// finish tells the loop how the task ended, unless the loop has given up on it.
func (r *run) finish(err error) {
	if r.reported.Swap(true) {
		return
	}
	var f *partition.Failure
	if err != nil {
		f = failureOf(err)
	}
	r.result = partition.Result{
		Task: r.cut, Outcomes: r.task.Outcomes, Failure: f, Service: time.Now().UnixNano() - r.started,
	}
	r.part.mail.put(input{run: r})
}

// prepare fills in the task: its items and what the step before answered.
func (r *run) prepare() error {
	t, p := r.cut, r.part
	items, err := p.engine.cache.get(&r.ctx, p.no, t.Bulk, t.Block)
	if err != nil {
		return err
	}
	k := &r.task
	k.ID = ""
	k.Bulk, k.Tenant, k.Step, k.StepNo, k.Action = t.Bulk, t.Tenant, t.Step.Name, t.StepNo, t.Step.Action
	k.Attempt, k.Deadline = t.Attempt, time.Unix(0, r.deadline.Load())
	k.Items, k.Outcomes = k.Items[:0], k.Outcomes[:0]
	missing := false
	for i, at := range t.Items {
		it := weir.TaskItem{No: t.Base + int64(at), ID: items.ID(int(at)), Data: items.Data(int(at))}
		if t.StepNo > 0 {
			it.Previous = t.Previous[i]
			missing = missing || it.Previous == nil
		}
		k.Items = append(k.Items, it)
		k.Outcomes = append(k.Outcomes, weir.Outcome{})
	}
	if missing {
		return p.engine.loadPrevious(&r.ctx, p.no, t, k.Items)
	}
	return nil
}

// ended takes the result of a task into the machine.
func (p *part) ended(now int64, r *run) {
	delete(p.running, r)
	p.machine.Result(now, &r.result)
	if r.expired == 0 {
		r.recycle()
	}
}

// recycle gives the run back for another task. One that the loop gave up on is
// left to the garbage collector: its handler may still hold it.
func (r *run) recycle() {
	clear(r.task.Items)
	clear(r.task.Outcomes)
	r.cut, r.handle = nil, nil
	r.result = partition.Result{}
	runs.Put(r)
}

func (r *run) heartbeat() {
	r.deadline.Store(time.Now().UnixNano() + r.timeout)
}

// checkDeadlines cancels tasks that have run out of time, and gives up on those
// that do not return after that.
func (p *part) checkDeadlines(now int64) {
	for r := range p.running {
		switch {
		case r.expired == 0 && now > r.deadline.Load():
			r.expired = now
			r.ctx.cancel(context.DeadlineExceeded)
		case r.expired != 0 && now > r.expired+int64(p.engine.opts.Grace) && !r.reported.Swap(true):
			r.result = partition.Result{Task: r.cut, Service: now - r.started, Failure: &partition.Failure{
				Code: "timeout", Message: "the handler did not return after its timeout",
			}}
			p.ended(now, r)
		}
	}
}

// abandonAll cancels what still runs when the drain time is over. It will be run again.
func (p *part) abandonAll() {
	for r := range p.running {
		r.reported.Store(true)
		r.ctx.cancel(context.Canceled)
	}
}

// failureOf says what the failure of a whole task means for its items.
func failureOf(err error) *partition.Failure {
	f := &partition.Failure{Code: execute.Code(err), Message: err.Error()}
	if refused, ok := weir.AsRefused(err); ok {
		f.Refused, f.After = true, refused.After
	}
	var wrong *execute.EndpointError
	if errors.As(err, &wrong) {
		f.Misconfigured = wrong.Misconfigured
	}
	return f
}

// runContext is a task's context. It costs nothing until somebody waits on it:
// deadlines are watched by the loop, not by a timer per task.
type runContext struct {
	context.Context // for values alone
	run             *run
	mu              sync.Mutex
	done            chan struct{}
	err             error
}

func (c *runContext) reset(parent context.Context, r *run) {
	c.Context, c.run, c.done, c.err = parent, r, nil, nil
}

// Deadline is the end of the task's time as it stands now.
func (c *runContext) Deadline() (time.Time, bool) { return time.Unix(0, c.run.deadline.Load()), true }

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

// String keeps fmt away from the fields.
func (c *runContext) String() string { return fmt.Sprintf("task of %s", c.run.task.Bulk) }

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
