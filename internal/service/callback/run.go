package callback

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir"
)

const (
	// pause is how long a job waits after the store failed.
	pause = 5 * time.Second
	// claimBeyond is how much longer than an attempt its claim lasts.
	claimBeyond = 15 * time.Second
	// settleFor bounds the attempts to store the result of an attempt.
	settleFor = 10 * time.Second
	// resendFor is how long a pending notice may be ahead of its delivery.
	resendFor = 10 * time.Minute
)

// Run sends due deliveries until ctx ends. It then starts nothing more, lets attempts under way
// continue for up to DrainFor, releases the others, and returns nil. Every goroutine it started
// has ended by then.
func (n *Notifier) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var running, scanning sync.WaitGroup
	scanning.Go(func() { n.scanOften(ctx) })
	n.begin(ctx, work, &running)
	scanning.Wait()
	late := time.AfterFunc(n.opts.DrainFor, func() { stop(errStopped) })
	defer late.Stop()
	running.Wait()
	return nil
}

// begin starts jobs as they become due and places become free.
func (n *Notifier) begin(ctx, work context.Context, running *sync.WaitGroup) {
	places := make(chan struct{}, n.opts.AtOnce)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case places <- struct{}{}:
		}
		j, ok := n.wait(ctx, timer)
		if !ok {
			return
		}
		running.Go(func() {
			n.work(work, j)
			<-places
		})
	}
}

// wait returns the next job that is due, or false when ctx has ended.
func (n *Notifier) wait(ctx context.Context, timer *time.Timer) (job, bool) {
	for ctx.Err() == nil {
		n.mu.Lock()
		j, ok := n.queue.next(time.Now())
		at, later := n.queue.wakeAt()
		n.mu.Unlock()
		if ok {
			return j, true
		}
		var due <-chan time.Time
		if later {
			timer.Reset(time.Until(at))
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-n.woken:
		case <-due:
		}
	}
	return job{}, false
}

// work makes one attempt at a job, and queues it again if it is not over.
func (n *Notifier) work(ctx context.Context, j job) {
	at, again := n.attempt(ctx, j)
	n.mu.Lock()
	n.queue.done(j)
	n.mu.Unlock()
	if j.due = at; !again || time.Until(at) > n.horizon() {
		n.push() // a place is free; a scan finds jobs that are due later
		return
	}
	n.push(j)
}

// attempt claims, sends and settles a delivery, and returns when to come back, if at all.
func (n *Notifier) attempt(ctx context.Context, j job) (at time.Time, again bool) {
	c := &claim{n.node, wall().Add(n.opts.Timeout + claimBeyond)}
	d, err := n.claim(ctx, j, c)
	switch {
	case errors.Is(err, errStray), errors.Is(err, weir.ErrNotFound):
		n.drop(ctx, j.notice)
		return time.Time{}, false
	case errors.Is(err, errAhead):
		if time.Since(j.due) > resendFor {
			n.drop(ctx, j.notice) // the process that was to resend it has died
		}
		return time.Time{}, false
	case errors.Is(err, errTaken):
		return d.free(), true
	case err != nil:
		return n.putOff(ctx, "claim a delivery", j, err)
	case time.Until(c.Until) < n.opts.Timeout:
		return time.Now(), true // the store was so slow that the claim could end first: claim it again
	}
	a, err := n.send(ctx, d)
	if err != nil {
		a = Attempt{Code: CodeInterrupted}
		n.putOff(ctx, "send a delivery", j, err)
	}
	return n.finish(ctx, j, c, a)
}

// putOff queues a job again after the store failed.
func (n *Notifier) putOff(ctx context.Context, what string, j job, err error) (time.Time, bool) {
	n.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "delivery postponed", slog.String("while", what),
		slog.String("delivery", j.delivery), slog.Any("error", err))
	return time.Now().Add(pause), true
}

// Why a job cannot be claimed now.
var (
	errStray = errors.New("the delivery is not pending in this round")
	errAhead = errors.New("the delivery is not in this round yet")
	errTaken = errors.New("the delivery is claimed by another process, or not due")
)

func (n *Notifier) claim(ctx context.Context, j job, c *claim) (Delivery, error) {
	var seen Delivery
	_, err := n.deliveries.Update(ctx, j.delivery, func(d *Delivery) error {
		seen = *d
		switch {
		case d.Round < j.round:
			return errAhead
		case d.Round > j.round || d.State != Pending:
			return errStray
		case !d.take(c, wall(), n.opts.Alone):
			return errTaken
		}
		seen = *d
		return nil
	})
	return seen, err
}

// free returns when a delivery that could not be claimed may be.
func (d *Delivery) free() time.Time {
	if d.Claim != nil && d.Claim.Until.After(d.Due) {
		return d.Claim.Until
	}
	return d.Due
}

// finish stores how an attempt ended. It completes even if ctx has ended.
func (n *Notifier) finish(ctx context.Context, j job, c *claim, a Attempt) (at time.Time, again bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleFor)
	defer cancel()
	d, mattered, err := n.settle(ctx, j.delivery, c, a)
	switch {
	case errors.Is(err, weir.ErrNotFound):
		n.drop(ctx, j.notice)
		return time.Time{}, false
	case err != nil:
		n.putOff(ctx, "record a result", j, err)
		return c.Until, true
	}
	if mattered && a.Code != CodeInterrupted {
		n.opts.Counted(d.Kind, d.result(), a.Took)
	}
	if d.State != Pending || d.Round != j.round {
		n.drop(ctx, j.notice)
		return time.Time{}, false
	}
	if a.Code == CodeInterrupted {
		return time.Now().Add(pause), true
	}
	if err := n.putNotice(ctx, j.notice, noticeOf(d, j.lane.host)); err != nil {
		n.putOff(ctx, "record when it is due", j, err) // it is checked sooner than necessary
	}
	return d.free(), true
}

func (d *Delivery) result() Result {
	switch d.State {
	case Delivered:
		return ResultDelivered
	case Failed:
		return ResultFailed
	case Cancelled:
		return ResultCancelled
	case Pending:
	}
	return ResultRetried
}

// settle stores the result of an attempt, retrying until ctx ends.
func (n *Notifier) settle(ctx context.Context, id string, c *claim, a Attempt) (d Delivery, mattered bool, err error) {
	u := n.opts.Random()
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		if a.Code == CodeGone {
			err = n.goneOf(ctx, id)
		}
		if err == nil {
			_, err = n.deliveries.Update(ctx, id, func(now *Delivery) error {
				mattered = now.settle(c, a, wall(), u)
				d = *now
				return nil
			})
		}
		if err == nil || errors.Is(err, weir.ErrNotFound) || !sleep(ctx, wait) {
			return d, mattered, err
		}
		err = nil
	}
}

// goneOf disables the endpoint of a delivery, if it has one.
func (n *Notifier) goneOf(ctx context.Context, id string) error {
	e, err := n.deliveries.Get(ctx, id)
	if err != nil || e.Value.Endpoint == "" {
		return err
	}
	n.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "endpoint disabled: it answered 410", slog.String("endpoint", e.Value.Endpoint))
	return n.gone(ctx, e.Value.Endpoint)
}

// drop removes a pending notice. If that fails, a scan finds it and drops it again.
func (n *Notifier) drop(ctx context.Context, name string) {
	if err := n.notices.Delete(ctx, name); err != nil && !errors.Is(err, weir.ErrNotFound) {
		n.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "cannot remove a notice", slog.String("notice", name), slog.Any("error", err))
	}
}

// sleep waits, or returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
