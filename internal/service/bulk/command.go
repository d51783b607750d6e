package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/schedule"
)

// Start starts a sealed bulk action, or begins to read the source of a draft that has one.
// Of any number of requests at once one starts it. did reports whether this one did.
func (s *Bulks) Start(ctx context.Context, id string, want api.Start) (now api.BulkAction, did bool, err error) {
	var at time.Time
	if want.StartAt != "" {
		var err error
		if at, _, err = schedule.ParseStart("start_at", want.StartAt, want.Zone, time.Now()); err != nil {
			return api.BulkAction{}, false, err
		}
	}
	d, err := s.drafts.Get(ctx, id)
	switch {
	case err == nil && d.State == draft.Submitted:
	case err == nil && d.Spec.Source != nil:
		if did, err := s.drafts.StartSource(ctx, id, at); err == nil {
			now, err := s.Get(ctx, id)
			return now, did, err
		} else if !errors.Is(err, weir.ErrNotFound) {
			return api.BulkAction{}, false, err
		} // else it was submitted in the meantime
	case err == nil:
		return api.BulkAction{}, false, &check.Refusal{Code: "not_sealed", Detail: id + " is a draft",
			Fix: "seal it first, or seal it with start"}
	case !errors.Is(err, weir.ErrNotFound):
		return api.BulkAction{}, false, err
	}
	return s.do(ctx, id, "start", func(b *engine.BulkAction) error { return b.Start(ctx, at) }, api.Sealed, api.Scheduled)
}

// Pause lets running tasks finish and starts no more. did reports whether this request paused it.
func (s *Bulks) Pause(ctx context.Context, id, reason string) (now api.BulkAction, did bool, err error) {
	return s.do(ctx, id, "pause", func(b *engine.BulkAction) error { return b.Pause(ctx, reason) }, api.Running, api.Paused)
}

// Unschedule takes back the start time. did reports whether this request did.
func (s *Bulks) Unschedule(ctx context.Context, id, _ string) (now api.BulkAction, did bool, err error) {
	return s.do(ctx, id, "unschedule", func(b *engine.BulkAction) error { return b.Unschedule(ctx) }, api.Scheduled)
}

// Resume resumes a paused or stopped bulk action. did reports whether this request did.
func (s *Bulks) Resume(ctx context.Context, id, reason string) (now api.BulkAction, did bool, err error) {
	b, now, err := s.alive(ctx, id)
	if err == nil {
		err = s.refuseUnknown(b)
	}
	if err != nil {
		return now, false, err
	}
	return s.do(ctx, id, "resume", func(b *engine.BulkAction) error { return b.Resume(ctx, reason) }, api.Paused, api.Stopped)
}

// Approve runs the rest after the canary. A bulk action of which the rest runs already stays as it is.
func (s *Bulks) Approve(ctx context.Context, id, reason string) (now api.BulkAction, did bool, err error) {
	now, did, err = s.do(ctx, id, "approve", func(b *engine.BulkAction) error { return b.Approve(ctx, reason) }, api.Awaiting)
	if err != nil && now.Phase == "main" { // it was approved before
		return now, false, nil
	}
	return now, did, err
}

// Cancel cancels a bulk action and discards a draft. A bulk action that is being or was cancelled
// stays as it is. did reports whether this request cancelled it.
func (s *Bulks) Cancel(ctx context.Context, id, reason string) (now api.BulkAction, did bool, err error) {
	unsure, did, err := s.drafts.Cancel(ctx, id, reason)
	switch {
	case err == nil && unsure:
		now, _, err = s.settle(ctx, id, nil) // until it has ended
		return now, did, err
	case err == nil:
		now, err = s.Get(ctx, id)
		return now, did, err
	case !errors.Is(err, weir.ErrNotFound):
		return now, false, err
	}
	now, did, err = s.do(ctx, id, "cancel", func(b *engine.BulkAction) error { return b.Cancel(ctx, reason) })
	if err == nil {
		if now.Pending != "" {
			now.State = api.Cancelling // nothing can prevent it any more
		}
		return now, did, nil
	}
	if last, other := s.Get(ctx, id); other == nil && (last.State == api.Cancelling || last.State == api.Cancelled) {
		return last, false, nil // another request was first
	}
	return now, false, err
}

// do sends a command to a bulk action and waits a moment for what its owner makes of it. If states are
// given, the bulk action must be in one of them, or on its way to another one by a command that its owner has not read.
// did reports whether the command changed the bulk action; if another was first, the answer is that to a later command.
// A command that the owner has not read yet is Pending.
func (s *Bulks) do(ctx context.Context, id, verb string, command func(*engine.BulkAction) error,
	from ...api.State) (now api.BulkAction, did bool, err error) {
	b, now, err := s.alive(ctx, id, from...)
	if r, refused := errors.AsType[*check.Refusal](err); refused && r.Code == "wrong_state" && now.State != api.Cancelling {
		unread, other := b.HasUnread(ctx)
		switch {
		case other != nil:
			return now, false, other
		case unread:
			err = nil
		default: // the owner may have read one since the state was
			b, now, err = s.alive(ctx, id, from...)
		}
	}
	if err == nil {
		err = command(b)
	}
	if err != nil {
		return now, false, err
	}
	now, answer, err := s.settle(ctx, id, b)
	switch {
	case err != nil:
		return now, false, err
	case answer == engine.Ignored:
		_, now, err = s.alive(ctx, id, from...)
		return now, false, err
	case answer == engine.Unread:
		now.Pending = verb
	}
	return now, true, nil
}

// alive returns a bulk action that still accepts commands: it has not ended and is not being
// cancelled. If states are given, it must be in one of them.
func (s *Bulks) alive(ctx context.Context, id string, from ...api.State) (*engine.BulkAction, api.BulkAction, error) {
	b, err := s.Bulk(ctx, id)
	if err != nil {
		return nil, api.BulkAction{}, err
	}
	now, err := s.View(ctx, b)
	switch {
	case err != nil:
	case now.State.Final():
		err = check.Ended(fmt.Sprintf("%s is %s since %s", id, now.State, now.FinishedAt.Format(time.RFC3339)))
	case now.State == api.Cancelling:
		err = &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s is %s", id, now.State),
			Fix: "it ends with its last running task and accepts no more commands"}
	case len(from) > 0 && !slices.Contains(from, now.State):
		err = &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s is %s", id, now.State), Fix: "it must be " + orOf(from)}
	}
	return b, now, err
}

// orOf joins states with "or", for a message.
func orOf(states []api.State) string {
	words := make([]string, len(states))
	for i, st := range states {
		words[i] = string(st)
	}
	return strings.Join(words, " or ")
}

const (
	// settleFor is how long a response waits for a command to show. The command is durable in any
	// case.
	settleFor = time.Second
	// settleEvery is the interval between checks.
	settleEvery = 5 * time.Millisecond
)

// settle waits a moment until the owner has read the command that was sent by a handle. A bulk action
// that is being cancelled mostly has nothing in flight and is cancelled right after, so settle waits for that as well.
// Without a handle it waits until the bulk action has ended.
func (s *Bulks) settle(ctx context.Context, id string, sent *engine.BulkAction) (now api.BulkAction, a engine.Answer, err error) {
	wait, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	for {
		b, d, err := s.Find(ctx, id)
		switch {
		case err != nil:
		case d != nil:
			now, err = s.ViewDraft(ctx, id, d)
		default:
			if now, err = s.View(ctx, b); sent != nil {
				a = sent.Answer(b)
			}
		}
		settled := now.State.Final() || a == engine.Ignored || a == engine.Obeyed && now.State != api.Cancelling
		if err != nil || settled || Rest(wait, settleEvery) != nil {
			return now, a, err
		}
	}
}

// Rest waits for a time, or until ctx ends.
func Rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
