package callback

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/due"
)

const (
	// pause is how long an interrupted delivery waits.
	pause = 5 * time.Second
	// claimBeyond is how much longer than an attempt its claim lasts.
	claimBeyond = 15 * time.Second
	// settleFor bounds the attempts to store the result of an attempt.
	settleFor = 10 * time.Second
	// resendFor is how long a pending notice may be ahead of its delivery.
	resendFor = 10 * time.Minute
	// scanShare bounds the share of time spent on scans to one part in so many.
	scanShare = 10
)

// pending is a delivery to be sent. The id of its job is the name of its pending notice.
type pending struct {
	delivery string
	round    int
	host     string
}

// job is a pending delivery that this node knows. Its lane is a registered endpoint, or a tenant at a
// host; its group is the host.
type job = due.Job[pending]

func jobOf(d Delivery, host string) job { return noticeOf(d, host).job(pendingName(d)) }

// job returns the job of a pending notice.
func (v notice) job(name string) job {
	return job{ID: name, At: v.Due, Target: v.Tenant + "\x00" + v.Endpoint + "\x00" + v.Host, Host: v.Host,
		Of: pending{v.Delivery, v.Round, v.Host}}
}

// Run sends due deliveries until ctx ends. It then starts nothing more, lets attempts under way
// continue for up to drainFor, releases the others, and returns nil. Every goroutine it started
// has ended by then.
func (n *Notifier) Run(ctx context.Context) error {
	n.runner.Run(ctx)
	return nil
}

// scan yields the pending deliveries that this node sends, and notes since when the oldest is pending.
func (n *Notifier) scan(ctx context.Context) iter.Seq2[job, error] {
	return func(yield func(job, error) bool) {
		var oldest time.Time
		for e, err := range n.notices.All(ctx, pendingList) {
			if err == nil && !n.opts.Owns(e.Value.BulkAction) {
				continue
			}
			if since := e.Value.Since; err == nil && (oldest.IsZero() || since.Before(oldest)) {
				oldest = since
			}
			if !yield(e.Value.job(e.Name), err) || err != nil && e.Name == "" {
				return
			}
		}
		n.oldest.Store(&oldest)
	}
}

// Oldest returns how long the oldest delivery of this node has been pending, as of the last scan;
// 0 if none is pending.
func (n *Notifier) Oldest() time.Duration {
	if t := n.oldest.Load(); t != nil && !t.IsZero() {
		return max(time.Since(*t), 0)
	}
	return 0
}

// attempt claims, sends and settles a delivery.
func (n *Notifier) attempt(ctx context.Context, j job) (due.Next, error) {
	c := &due.Claim{By: n.node, Until: wall().Add(n.opts.Timeout + claimBeyond)}
	d, err := n.claim(ctx, j, c)
	switch {
	case errors.Is(err, errStray), errors.Is(err, weir.ErrNotFound):
		n.drop(ctx, j.ID)
		return due.Next{}, nil
	case errors.Is(err, errAhead):
		if time.Since(j.At) > resendFor {
			n.drop(ctx, j.ID) // the process that was to resend it has died
		}
		return due.Next{}, nil
	case errors.Is(err, errTaken):
		return due.Hold(d.free()), nil
	case err != nil:
		return due.Next{}, fmt.Errorf("claim: %w", err)
	case time.Until(c.Until) < n.opts.Timeout:
		return due.At(time.Now()), nil // the store was so slow that the claim could end first: claim it again
	}
	a, err := n.sender.send(ctx, d)
	if err != nil {
		a = Attempt{Code: CodeInterrupted}
	}
	return n.finish(ctx, j, c, a), err
}

// Why a job cannot be claimed now.
var (
	errStray = errors.New("the delivery is not pending in this round")
	errAhead = errors.New("the delivery is not in this round yet")
	errTaken = errors.New("the delivery is claimed by another process, or not due")
)

func (n *Notifier) claim(ctx context.Context, j job, c *due.Claim) (Delivery, error) {
	var seen Delivery
	_, err := n.deliveries.Update(ctx, j.Of.delivery, func(d *Delivery) error {
		seen = *d
		switch {
		case d.Round < j.Of.round:
			return errAhead
		case d.Round > j.Of.round || d.State != Pending:
			return errStray
		case !d.take(c, wall(), n.opts.Alone):
			return errTaken
		}
		seen = *d
		return nil
	})
	return seen, err
}

// finish stores how an attempt ended. It completes even if ctx has ended.
func (n *Notifier) finish(ctx context.Context, j job, c *due.Claim, a Attempt) due.Next {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleFor)
	defer cancel()
	d, mattered, err := n.settle(ctx, j.Of.delivery, c, a)
	switch {
	case errors.Is(err, weir.ErrNotFound):
		n.drop(ctx, j.ID)
		return due.Next{}
	case err != nil:
		n.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "cannot record the result of a delivery",
			slog.String("delivery", j.Of.delivery), slog.Any("error", err))
		return due.Hold(c.Until)
	}
	if mattered && a.Code != CodeInterrupted {
		n.opts.Counted(d.result())
	}
	if d.State != Pending || d.Round != j.Of.round {
		n.drop(ctx, j.ID)
		return due.Next{}
	}
	if a.Code == CodeInterrupted {
		return due.Hold(time.Now().Add(pause))
	}
	if err := n.putNotice(ctx, j.ID, noticeOf(d, j.Of.host)); err != nil { // it is checked sooner than necessary
		n.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "cannot record when a delivery is due", slog.String("delivery", d.ID),
			slog.Any("error", err))
	}
	return due.At(d.free())
}

// settle stores the result of an attempt, retrying until ctx ends.
func (n *Notifier) settle(ctx context.Context, id string, c *due.Claim, a Attempt) (d Delivery, mattered bool, err error) {
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
