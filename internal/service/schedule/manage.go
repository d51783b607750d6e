package schedule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
)

// ErrChanged means that a schedule has another version by now.
var ErrChanged = records.ErrChanged

// Create creates a schedule. It fires from now on. Bad input is a [weir.InputError].
func (k *Keeper) Create(ctx context.Context, spec Spec, by string) (*Schedule, error) {
	return k.CreateAs(ctx, NewID(), spec, by)
}

// CreateAs is Create with an id from [NewID]: an existing schedule is returned as it is.
func (k *Keeper) CreateAs(ctx context.Context, id string, spec Spec, by string) (*Schedule, error) {
	if s, err := k.Get(ctx, id); err == nil {
		return s, nil
	}
	now := k.now()
	if err := spec.Check(now); err != nil {
		return nil, err
	}
	s := Schedule{ID: id, Spec: spec, CreatedBy: by, CreatedAt: now, ChangedAt: now, Revision: 1, Decided: begin(&spec, now)}
	return k.written(k.table.Insert(ctx, s.ID, s))
}

// begin returns the moment after which a schedule that is created or changed now may have slots:
// now, or just before a single time that has only just passed.
func begin(s *Spec, now time.Time) time.Time {
	if s.Cron == "" && s.At.Before(now) {
		return s.At.Add(-1)
	}
	return now
}

// Get returns a schedule, or [weir.ErrNotFound].
func (k *Keeper) Get(ctx context.Context, id string) (*Schedule, error) {
	e, err := k.table.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return &e.Value, nil
}

// List returns up to limit schedules with an id after a given one, in the order of creation, and the id
// to continue after; empty at the end.
func (k *Keeper) List(ctx context.Context, after string, limit int) (page []Schedule, next string, err error) {
	found, err := k.table.List(ctx, "", after, limit)
	if err != nil {
		return nil, "", err
	}
	for i := range found {
		page = append(page, found[i].Value)
	}
	if len(found) == limit {
		next = found[limit-1].Name
	}
	return page, next, nil
}

// Update changes the spec of a schedule, if it still has the version; an empty version matches
// any. With new times, slots that have passed count as decided. The tenant stays.
func (k *Keeper) Update(ctx context.Context, id, version string, change func(*Spec) error) (*Schedule, error) {
	return k.change(ctx, id, version, func(s *Schedule, now time.Time) error {
		old := s.Spec
		old.Template = bytes.Clone(old.Template)
		if err := change(&s.Spec); err != nil {
			return err
		}
		s.touch(now)
		return s.changed(&old, now)
	})
}

// changed checks a spec that replaces old.
func (s *Schedule) changed(old *Spec, now time.Time) error {
	var in weir.InputError
	s.checkRest(&in)
	if s.Tenant != old.Tenant {
		in.Add(codeRange, "tenant", "cannot be changed", "create another schedule")
	}
	sameTimes := s.Cron == old.Cron && s.Zone == old.Zone && s.At.Equal(old.At)
	if !sameTimes || !s.End.Equal(old.End) {
		s.checkTimes(&in, now)
	}
	if !sameTimes {
		s.Decided = begin(&s.Spec, now)
		s.Waiting = nil // they are slots of the former times
	}
	return in.OrNil()
}

// Pause stops a schedule from firing. Slots that pass in the meantime are not caught up. It may be
// paused already.
func (k *Keeper) Pause(ctx context.Context, id, version string) (*Schedule, error) {
	return k.change(ctx, id, version, func(s *Schedule, now time.Time) error {
		if !s.Paused {
			s.Paused = true
			s.touch(now)
		}
		return nil
	})
}

// Resume lets a schedule fire again from now on; waiting and backfilled slots continue. It may be
// running already.
func (k *Keeper) Resume(ctx context.Context, id, version string) (*Schedule, error) {
	return k.change(ctx, id, version, func(s *Schedule, now time.Time) error {
		if !s.Paused {
			return nil
		}
		s.Paused = false
		if s.Decided.Before(now) {
			s.Decided = now
		}
		s.touch(now)
		return nil
	})
}

// Delete removes a schedule if it still has the version; an empty version matches any. The bulk
// actions it created stay.
func (k *Keeper) Delete(ctx context.Context, id, version string) error {
	defer k.runner.Wake()
	if version == "" {
		return k.table.Delete(ctx, id)
	}
	for {
		e, err := k.table.Get(ctx, id)
		if err != nil {
			return err
		}
		if e.Value.Version() != version {
			return fmt.Errorf("schedule %s: %w", id, ErrChanged)
		}
		if err := k.table.DeleteIf(ctx, id, e.Version); !errors.Is(err, ErrChanged) {
			return err // otherwise it only fired in the meantime, which does not count as a change
		}
	}
}

// Backfill fires the past slots from one moment to another, both included, in order and under the
// overlap policy; slots that were fired before are not fired again. It returns the slots.
func (k *Keeper) Backfill(ctx context.Context, id string, from, to time.Time) (slots []time.Time, err error) {
	_, err = k.change(ctx, id, "", func(s *Schedule, now time.Time) error {
		if slots, err = s.backfill(from, to, now); err != nil {
			return err
		}
		s.Backfill = append(s.Backfill, slots...)
		s.touch(now)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slots, nil
}

// backfill returns the slots that a backfill adds.
func (s *Schedule) backfill(from, to, now time.Time) ([]time.Time, error) {
	times, err := s.Times()
	if err != nil {
		return nil, err
	}
	switch {
	case to.After(now):
		return nil, badTime("to", to.Format(time.RFC3339)+" is in the future", "write a past time")
	case to.Before(from):
		return nil, badTime("from", from.Format(time.RFC3339)+" is after to", "swap them")
	}
	most := MaxBackfill - len(s.Backfill)
	slots := Slots(times, from, to, most+1)
	for i := range slots {
		slots[i] = slots[i].UTC()
	}
	switch {
	case len(slots) > most:
		return nil, &weir.FieldError{
			Code: codeRange, Field: "from",
			Problem: fmt.Sprintf("more than %d slots to fire, the maximum is %d", most, MaxBackfill), Fix: "choose a shorter range",
		}
	case len(slots) == 0:
		return nil, badTime("from", "no time of the schedule is between from and to", "choose a longer range")
	}
	return slices.DeleteFunc(slots, func(at time.Time) bool { return slices.ContainsFunc(s.Backfill, at.Equal) }), nil
}

// NextFires returns the next n slots of a schedule, as if it were not paused.
func (k *Keeper) NextFires(ctx context.Context, id string, n int) ([]time.Time, error) {
	s, err := k.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.NextFires(k.now(), n)
}

// NextFires returns the next n slots as seen now, as if it were not paused.
func (s *Schedule) NextFires(now time.Time, n int) ([]time.Time, error) {
	times, err := s.Times()
	if err != nil {
		return nil, err
	}
	if s.Decided.After(now) {
		now = s.Decided
	}
	slots := NextN(times, now, n)
	if i := slices.IndexFunc(slots, s.beyond); i >= 0 {
		slots = slots[:i]
	}
	return slots, nil
}

// beyond reports whether a slot lies after the end.
func (s *Schedule) beyond(slot time.Time) bool { return !s.End.IsZero() && slot.After(s.End) }

// change changes a schedule with a version; an empty version matches any.
func (k *Keeper) change(ctx context.Context, id, version string, change func(*Schedule, time.Time) error) (*Schedule, error) {
	return k.written(k.table.Update(ctx, id, func(s *Schedule) error {
		if version != "" && s.Version() != version {
			return ErrChanged
		}
		return change(s, k.now())
	}))
}

// written returns a schedule that was written, and wakes the keeper. Input errors are returned
// without the name of the record.
func (k *Keeper) written(e records.Entry[Schedule], err error) (*Schedule, error) {
	var input *weir.InputError
	var field *weir.FieldError
	switch {
	case errors.As(err, &input):
		return nil, input
	case errors.As(err, &field):
		return nil, field
	case err != nil:
		return nil, err
	}
	k.runner.Wake()
	return &e.Value, nil
}
