package service

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
)

// sweepEvery is the interval between searches for records whose bulk action is gone.
const sweepEvery = time.Hour

// appendsFor is how long after the seal a repeated append is recognised.
const appendsFor = 7 * 24 * time.Hour

// sweep removes unused uploads, logs of drafts that were sealed long ago, and records of bulk
// actions that were removed at the end of their retention.
func (s *Service) sweep(ctx context.Context) error {
	return errors.Join(
		s.files().Sweep(ctx, time.Now().Add(-uploadsFor), s.waitsFor),
		sweepOf(ctx, s, s.links),
		sweepOf(ctx, s, s.toldBefore()),
		sweepOf(ctx, s, s.handlings()),
		sweepOf(ctx, s, records.New[undoing](s.opts.Store, "undo")),
		s.sweepOnce(ctx),
		s.sweepLogs(ctx, time.Now().Add(-appendsFor)),
	)
}

// sweepLogs removes the logs of drafts that were sealed before a time and submitted.
func (s *Service) sweepLogs(ctx context.Context, before time.Time) error {
	for e, err := range s.parts.All(ctx, "") {
		if err != nil {
			return err
		}
		if e.Value.Seal == nil || !e.Value.Seal.At.Before(before) {
			continue
		}
		id, _, _ := strings.Cut(e.Name, "/")
		_, err := s.getDraft(ctx, id)
		if errors.Is(err, weir.ErrNotFound) {
			err = s.removeLog(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepOf removes the records of a table whose bulk action is gone. Their names begin with its id.
func sweepOf[T any](ctx context.Context, s *Service, t *records.Table[T]) error {
	for e, err := range t.All(ctx, "") {
		if err != nil {
			return err
		}
		id, _, _ := strings.Cut(e.Name, "/")
		if err := sweepOne(ctx, s, t, e.Name, id); err != nil {
			return err
		}
	}
	return nil
}

// sweepOnce removes the keys of bulk actions that are gone.
func (s *Service) sweepOnce(ctx context.Context) error {
	t := records.New[once](s.opts.Store, "once")
	for e, err := range t.All(ctx, "") {
		if err != nil {
			return err
		}
		if err := sweepOne(ctx, s, t, e.Name, e.Value.ID); err != nil {
			return err
		}
	}
	return nil
}

// sweepOne removes a record if its bulk action is known to have been removed. A record whose bulk
// action was never found stays: it may be about to be created.
func sweepOne[T any](ctx context.Context, s *Service, t *records.Table[T], name, id string) error {
	_, err := s.engine.Get(ctx, weir.BulkID(id))
	switch {
	case errors.Is(err, weir.ErrExpired):
		if err := t.Delete(ctx, name); err != nil && !errors.Is(err, weir.ErrNotFound) {
			return err
		}
		return nil
	case errors.Is(err, weir.ErrNotFound):
		return nil
	}
	return err
}
