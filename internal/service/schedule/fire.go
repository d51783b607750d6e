package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/due"
	"github.com/weirhq/weir/internal/service/records"
)

// errSettled means that another keeper has recorded the result of a slot.
var errSettled = errors.New("settled by another node")

// work does all that a schedule has to do now.
func (k *Keeper) work(ctx context.Context, j due.Job[struct{}]) (due.Next, error) {
	for ctx.Err() == nil {
		again, at, err := k.step(ctx, j.ID)
		switch {
		case errors.Is(err, records.ErrChanged): // another keeper, or a user, was first
		case err != nil:
			return due.Next{}, records.IgnoreGone(err)
		case !again:
			return due.At(at), nil
		}
	}
	return due.Next{}, nil
}

// step decides about one slot and fires it, or finishes one that was being fired.
func (k *Keeper) step(ctx context.Context, id string) (again bool, at time.Time, err error) {
	e, err := k.table.Get(ctx, id)
	if err != nil {
		return false, at, err
	}
	s, now := &e.Value, k.now()
	if s.Firing != nil {
		if at := s.Firing.tryAgainAt(now); at.After(now) {
			return false, at, nil
		}
		// Take over the note, so that no two keepers try at once.
		e, err = k.table.UpdateIf(ctx, id, e.Version, func(s *Schedule) error {
			s.Firing.RetryAt = now.Add(createFor)
			return nil
		})
		if err != nil {
			return false, at, err
		}
		return true, at, k.fire(ctx, &e.Value)
	}
	times, err := s.Times()
	if err != nil {
		return false, at, err
	}
	at = s.upcoming(times, now)
	if at.IsZero() || at.After(now) {
		return false, at, nil
	}
	running, err := k.running(ctx, s)
	if err != nil {
		return false, at, err
	}
	ds := Due(s.state(times, running), now)
	if len(ds) == 0 {
		return false, k.pollAt(s, times, now), nil
	}
	return true, at, k.carryOut(ctx, e, ds, now)
}

// pollAt returns when to check a schedule whose slots wait for a bulk action to end.
func (k *Keeper) pollAt(s *Schedule, times Times, now time.Time) time.Time {
	poll := now.Add(pollEvery)
	if next := s.state(times, false).next(s.Decided); !next.IsZero() && next.Before(poll) {
		return next
	}
	return poll
}

// running reports whether the last bulk action is still running, if that matters.
func (k *Keeper) running(ctx context.Context, s *Schedule) (bool, error) {
	if s.LastBulk == "" || s.Overlap == Allow {
		return false, nil
	}
	running, err := k.opts.Running(ctx, s.LastBulk)
	if errors.Is(err, weir.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check whether %s is running: %w", s.LastBulk, err)
	}
	return running, nil
}

// carryOut records decisions, unless another keeper was first, and fires the slot that they end
// with.
func (k *Keeper) carryOut(ctx context.Context, e records.Entry[Schedule], ds []Decision, now time.Time) error {
	e, err := k.table.UpdateIf(ctx, e.Name, e.Version, func(s *Schedule) error {
		s.apply(ds, now, createFor)
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range ds {
		switch d.Do {
		case DoSkip:
			k.report(ctx, e.Name, Skipped, d.Slot, d.Reason)
		case DoMiss:
			k.report(ctx, e.Name, Missed, d.Slot, d.Reason)
		case DoFire, DoQueue:
		}
	}
	if e.Value.Firing == nil {
		return nil
	}
	return k.fire(ctx, &e.Value)
}

// fire creates the bulk action of the slot that the schedule notes, and records the result.
func (k *Keeper) fire(ctx context.Context, s *Schedule) error {
	slot, origin := s.Firing.Slot, s.Firing.Origin
	within, cancel := context.WithTimeout(ctx, createFor)
	defer cancel()
	bulkID, err := k.opts.Create(within, s, slot, Key(s.ID, slot))
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // stopped: the next keeper finds the note
	}
	now := k.now()
	after, err2 := k.table.Update(ctx, s.ID, func(s *Schedule) error {
		if s.Firing == nil || !s.Firing.Slot.Equal(slot) || s.Firing.Origin != origin {
			return errSettled
		}
		if err == nil {
			s.fired(bulkID, now)
		} else {
			s.failed(err.Error(), refused(err), now)
		}
		return nil
	})
	if errors.Is(err2, errSettled) {
		return nil
	}
	if err2 != nil {
		return err2
	}
	k.settled(ctx, &after.Value, slot, origin, now)
	return nil
}

// settled reports the result of the slot that is first in the history.
func (k *Keeper) settled(ctx context.Context, s *Schedule, slot time.Time, origin Origin, now time.Time) {
	f := s.History[0]
	k.report(ctx, s.ID, f.Result, slot, f.Reason)
	if f.Result == Fired && origin == Live {
		k.opts.Lag(max(0, now.Sub(slot)))
	}
}

// refused reports whether a retry cannot succeed.
func refused(err error) bool {
	var field *weir.FieldError
	var input *weir.InputError
	return errors.Is(err, ErrRefused) || errors.As(err, &field) || errors.As(err, &input)
}

// report counts a result, and logs one that an operator may need to know.
func (k *Keeper) report(ctx context.Context, id string, r Result, slot time.Time, reason string) {
	level := slog.LevelInfo
	switch r {
	case Retrying, Failed, Missed:
		level = slog.LevelWarn
	case Fired, Skipped:
	}
	if r != Retrying {
		k.opts.Count(r)
	}
	k.opts.Logger.LogAttrs(ctx, level, "schedule", slog.String("schedule", id), slog.Time("slot", slot),
		slog.String("result", string(r)), slog.String("reason", reason))
}
