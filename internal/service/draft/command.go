package draft

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
)

// Cancel cancels a draft, or returns weir.ErrNotFound if it is not a draft any more. Unsure says that
// another process may be submitting it: it is cancelled then as well, in a moment. Did reports whether it was not
// cancelled before.
func (s *Seals) Cancel(ctx context.Context, id, reason string) (unsure, did bool, err error) {
	e, err := s.drafts.Update(ctx, id, func(d *Draft) error {
		did = d.State != Cancelled
		switch d.State {
		case Cancelled:
			return nil
		case Failed:
			return check.Ended(id + " has failed")
		case Submitted:
			return weir.ErrNotFound // as a draft
		case Sealing, Importing:
			d.Unsure, d.Touched = true, time.Now().UTC()
		}
		d.State, d.Reason = Cancelled, reason
		return nil
	})
	if err != nil || !e.Value.Unsure {
		return false, did, err
	}
	return true, did, s.cancelUnsure(ctx, id)
}

// cancelUnsure finishes the cancellation of a draft that another process may be submitting. The
// cancellation is recorded: no process begins to submit it after that, nor before its log is
// sealed. So a draft that is not sealed now, and that the engine does not have, will never run.
func (s *Seals) cancelUnsure(ctx context.Context, id string) error {
	sum, err := s.Sum(ctx, id)
	if err != nil {
		return err
	}
	_, err = s.submitted(ctx, id, nil)
	if errors.Is(err, weir.ErrNotFound) && sum.sealed == nil {
		_, err = s.drafts.Update(ctx, id, func(d *Draft) error { d.Unsure = false; return nil })
	}
	return records.IgnoreGone(err)
}

// Delete removes a draft with its items. A submitted bulk action is removed at the end of its
// retention.
func (s *Seals) Delete(ctx context.Context, id string) error {
	e, err := s.drafts.Update(ctx, id, func(d *Draft) error {
		if d.State == Importing || d.State == Sealing {
			return &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s is %s", id, d.State), Fix: "cancel it first"}
		}
		d.State = Cancelled // so that no request adds to it
		return nil
	})
	if errors.Is(err, weir.ErrNotFound) {
		if _, other := s.engine.Get(ctx, weir.BulkID(id)); other == nil {
			return &check.Refusal{Code: "wrong_state", Detail: id + " is not a draft any more",
				Fix: "cancel it; it is removed at the end of its retention"}
		}
	}
	if err != nil {
		return err
	}
	return s.removeDraft(context.WithoutCancel(ctx), id, &e.Value)
}
