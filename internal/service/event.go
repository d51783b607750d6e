package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
)

// Happening is an event of a bulk action, for webhooks.
type Happening struct {
	Type     string // as in "bulk_action.completed"
	Number   uint64 // tells events of one bulk action apart; the same each time the event is repeated
	At       time.Time
	Bulk     api.BulkAction
	Callback *api.Callback // of the bulk action itself; its secret is in plain text
}

// Event passes an engine event to the listener of [Service.OnEvent]; see engine.Options.
func (s *Service) Event(ctx context.Context, ev engine.Event) error {
	if s.notify == nil {
		return nil
	}
	b, err := s.engine.Get(ctx, ev.Bulk)
	if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
		return nil // it was removed long ago
	}
	if err != nil {
		return err
	}
	view, err := s.view(ctx, b)
	if err != nil {
		return err
	}
	var x Extra
	if raw := b.Info().Extra; len(raw) > 0 {
		if err := json.Unmarshal(raw, &x); err != nil {
			return err
		}
	}
	h := Happening{Type: happeningOf(ev), Number: ev.Number, At: ev.At, Bulk: view}
	if h.Callback, err = s.openCallback(view.ID, x.Callback); err != nil {
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

// tellFailed reports that a draft failed, and records that it was reported.
func (s *Service) tellFailed(ctx context.Context, id string, d *draft) error {
	if err := s.tellOfFailure(ctx, id, d); err != nil {
		return err
	}
	_, err := s.drafts.Update(ctx, id, func(d *draft) error { d.Untold = false; return nil })
	return ignoreGone(err)
}

func (s *Service) tellOfFailure(ctx context.Context, id string, d *draft) error {
	if s.notify == nil {
		return nil
	}
	view, err := s.viewDraft(ctx, id, d)
	if err != nil {
		return err
	}
	h := Happening{Type: "bulk_action.failed", At: time.Now().UTC(), Bulk: view}
	if h.Callback, err = s.openCallback(id, d.Spec.Callback); err != nil {
		return err
	}
	return s.notify(ctx, h)
}

// openCallback unseals the secret of a one-off callback.
func (s *Service) openCallback(id string, c *api.Callback) (*api.Callback, error) {
	if c == nil || c.Secret == "" {
		return c, nil
	}
	plain, err := s.opts.Vault.Open("callback/"+id, c.Secret)
	if err != nil {
		return nil, fmt.Errorf("secret of the callback of %s: %w", id, err)
	}
	out := *c
	out.Secret = string(plain)
	return &out, nil
}

// linked is a bulk action created from another: a retry or an undo.
type linked struct {
	Of   string    `json:"of"`
	Kind string    `json:"kind"` // retry or undo
	At   time.Time `json:"at"`
	// State is the final state of the retried items. Empty: failed.
	State string `json:"state,omitempty"`
}
