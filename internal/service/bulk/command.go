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
func (s *Bulks) Start(ctx context.Context, id string, want api.Start) (api.BulkAction, error) {
	var at time.Time
	if want.StartAt != "" {
		var err error
		if at, _, err = schedule.ParseStart("start_at", want.StartAt, want.Zone, time.Now()); err != nil {
			return api.BulkAction{}, err
		}
	}
	d, err := s.drafts.Get(ctx, id)
	switch {
	case err == nil && d.State == draft.Submitted:
	case err == nil && d.Spec.Source != nil:
		if err := s.drafts.StartSource(ctx, id, at); err == nil {
			return s.Get(ctx, id)
		} else if !errors.Is(err, weir.ErrNotFound) {
			return api.BulkAction{}, err
		} // else it was submitted in the meantime
	case err == nil:
		return api.BulkAction{}, &check.Refusal{Code: "not_sealed", Detail: id + " is a draft",
			Fix: "seal it first, or seal it with start"}
	case !errors.Is(err, weir.ErrNotFound):
		return api.BulkAction{}, err
	}
	return s.Do(ctx, id, func(b *engine.BulkAction) error { return b.Start(ctx, at) }, api.Sealed, api.Scheduled)
}

// Resume resumes a paused or stopped bulk action.
func (s *Bulks) Resume(ctx context.Context, id, reason string) (api.BulkAction, error) {
	b, now, err := s.alive(ctx, id)
	if err == nil {
		err = s.refuseUnknown(b)
	}
	if err != nil {
		return now, err
	}
	return s.Do(ctx, id, func(b *engine.BulkAction) error { return b.Resume(ctx, reason) }, api.Paused, api.Stopped)
}

// Cancel cancels a bulk action and discards a draft. A bulk action that is being or was cancelled
// stays as it is.
func (s *Bulks) Cancel(ctx context.Context, id, reason string) (api.BulkAction, error) {
	unsure, err := s.drafts.Cancel(ctx, id, reason)
	switch {
	case err == nil && unsure:
		return s.settle(ctx, id, func(*api.BulkAction) bool { return false }) // until it has ended
	case err == nil:
		return s.Get(ctx, id)
	case !errors.Is(err, weir.ErrNotFound):
		return api.BulkAction{}, err
	}
	out, err := s.Do(ctx, id, func(b *engine.BulkAction) error { return b.Cancel(ctx, reason) })
	if err == nil {
		return out, nil
	}
	if now, other := s.Get(ctx, id); other == nil && (now.State == api.Cancelling || now.State == api.Cancelled) {
		return now, nil // another request was first
	}
	return out, err
}

// Do sends a command to a bulk action and waits a moment for its effect to show. If states are
// given, the bulk action must be in one of them.
func (s *Bulks) Do(ctx context.Context, id string, command func(*engine.BulkAction) error,
	from ...api.State) (api.BulkAction, error) {
	b, before, err := s.alive(ctx, id, from...)
	if err != nil {
		return before, err
	}
	if err := command(b); err != nil {
		return before, err
	}
	return s.settle(ctx, id, func(now *api.BulkAction) bool {
		return now.State != before.State || now.Reason != before.Reason || !now.StartAt.Equal(before.StartAt)
	})
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

// settle waits a moment until a command shows. A bulk action that is being cancelled mostly has
// nothing in flight and is cancelled right after, so settle waits for that as well.
func (s *Bulks) settle(ctx context.Context, id string, shows func(*api.BulkAction) bool) (api.BulkAction, error) {
	wait, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	for {
		now, err := s.Get(context.WithoutCancel(ctx), id)
		shown := now.State.Final() || now.State != api.Cancelling && shows(&now)
		if err != nil || shown || Rest(wait, settleEvery) != nil {
			return now, err
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
