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
	ID       string // of the bulk action
	Tenant   string
	Trace    string           // traceparent of the submit of the bulk action; empty: none
	Callback *stored.Callback // of the bulk action itself; its secret is in plain text
	// View reads the bulk action. Most events interest nobody, so it is left to whom they do.
	View func(context.Context) (api.BulkAction, error)
}

// event passes an engine event on.
func (s *Service) event(ctx context.Context, ev engine.Event) error {
	if s.notify == nil {
		return nil
	}
	callback, err := stored.CallbackIn(ev.Extra)
	if err != nil {
		return err
	}
	h := Happening{Type: happeningOf(ev), Number: ev.Number, At: ev.At, ID: string(ev.Bulk), Tenant: ev.Tenant, Trace: ev.Trace}
	h.View = func(ctx context.Context) (api.BulkAction, error) {
		b, err := s.engine.Get(ctx, ev.Bulk)
		if err != nil {
			return api.BulkAction{}, err
		}
		return s.Bulks.View(ctx, b)
	}
	return check.IgnoreRemoved(s.tell(ctx, h, callback)) // it was removed long ago
}

// failed reports that a draft failed.
func (s *Service) failed(ctx context.Context, id string, d *draft.Draft) error {
	if s.notify == nil {
		return nil
	}
	h := Happening{Type: "bulk_action.failed", At: time.Now().UTC(), ID: id, Tenant: d.Spec.Tenant}
	h.View = func(ctx context.Context) (api.BulkAction, error) { return s.Bulks.ViewDraft(ctx, id, d) }
	return s.tell(ctx, h, d.Spec.Callback)
}

// tell passes an event on, with the bulk action's own callback.
func (s *Service) tell(ctx context.Context, h Happening, c *stored.Callback) (err error) {
	if h.Callback, err = c.Open(s.opts.Vault, h.ID); err != nil {
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
