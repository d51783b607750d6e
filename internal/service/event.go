package service

import (
	"context"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/stored"
)

// Happening is an event of a bulk action, for webhooks.
type Happening struct {
	Type     string // as in "bulk_action.completed"
	Number   uint64 // tells events of one bulk action apart; the same each time the event is repeated
	At       time.Time
	Bulk     api.BulkAction
	Callback *stored.Callback // of the bulk action itself; its secret is in plain text
}

// event passes an engine event on.
func (s *Service) event(ctx context.Context, ev engine.Event) error {
	if s.notify == nil {
		return nil
	}
	b, err := s.engine.Get(ctx, ev.Bulk)
	if err != nil {
		return check.IgnoreRemoved(err) // it was removed long ago
	}
	view, err := s.Bulks.View(ctx, b)
	if err != nil {
		return err
	}
	x, err := stored.ParseExtra(b.Info().Extra)
	if err != nil {
		return err
	}
	return s.tell(ctx, Happening{Type: happeningOf(ev), Number: ev.Number, At: ev.At, Bulk: view}, x.Callback)
}

// failed reports that a draft failed.
func (s *Service) failed(ctx context.Context, id string, d *draft.Draft) error {
	if s.notify == nil {
		return nil
	}
	view, err := s.Bulks.ViewDraft(ctx, id, d)
	if err != nil {
		return err
	}
	return s.tell(ctx, Happening{Type: "bulk_action.failed", At: time.Now().UTC(), Bulk: view}, d.Spec.Callback)
}

// tell passes an event on, with the bulk action's own callback.
func (s *Service) tell(ctx context.Context, h Happening, c *stored.Callback) (err error) {
	if h.Callback, err = c.Open(s.opts.Vault, h.Bulk.ID); err != nil {
		return err
	}
	return s.notify(ctx, h)
}

func happeningOf(ev engine.Event) string {
	if ev.Late {
		return "bulk_action.late"
	}
	kind, ok := map[weir.BulkState]string{
		weir.BulkAwaiting: "canary_ready", weir.BulkCancelled: "cancelled", weir.BulkStopped: "stopped",
	}[ev.State]
	if !ok {
		kind = "completed"
	}
	return "bulk_action." + kind
}
