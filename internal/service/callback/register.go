package callback

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
)

// cacheFor is how long a node may miss an endpoint that another node registered.
const cacheFor = time.Second

// Register stores a new endpoint, enabled. It signs with the given secret or generates one; the
// secret can be read only then.
func (n *Notifier) Register(ctx context.Context, e Endpoint, secretText string) (kept Endpoint, secretOut string, err error) {
	if err := e.check(n.opts.CheckURL); err != nil {
		return Endpoint{}, "", err
	}
	if secretText == "" {
		secretText = NewSecret()
	}
	if err := checkSecret(secretText); err != nil {
		return Endpoint{}, "", err
	}
	if e.Created = wall(); e.ID == "" {
		e.ID = NewEndpointID()
	}
	e.enable()
	r := endpointRecord{Endpoint: e}
	if err := n.sign(&r, secrets{{Text: secretText}}); err != nil {
		return Endpoint{}, "", err
	}
	_, err = n.webhooks.Put(ctx, e.ID, func(held *endpointRecord, _ bool) error {
		*held = r // no client knows the existing one: its response was lost, and the secret with it
		return nil
	})
	if err != nil {
		return Endpoint{}, "", err
	}
	n.cache.forget()
	return r.Endpoint, secretText, nil
}

// NewEndpointID returns an id, for a caller that must know it before Register.
func NewEndpointID() string { return "whk_" + strings.ToLower(ulid.Make().String()) }

// sign seals the secrets of an endpoint into it.
func (n *Notifier) sign(r *endpointRecord, s secrets) (err error) {
	r.PublicKey = ""
	if key, err := execute.PublicKey(s[0].Text); err == nil {
		r.PublicKey = key
	}
	r.Sealed, err = n.seal(placeOfEndpoint(r.ID), s)
	return err
}

// Change changes an endpoint's address, its event types, or whether it is enabled.
func (n *Notifier) Change(ctx context.Context, id string, change func(*Endpoint) error) (Endpoint, error) {
	e, err := n.webhooks.Update(ctx, id, func(r *endpointRecord) error {
		before := r.Endpoint
		before.Types = slices.Clone(before.Types)
		if err := change(&r.Endpoint); err != nil {
			return err
		}
		r.ID, r.Created, r.PublicKey, r.File = before.ID, before.Created, before.PublicKey, before.File
		if r.Enabled && !before.Enabled {
			r.enable()
		}
		if !r.Enabled && before.Enabled {
			r.Enabled = true
			r.disable(r.Reason, wall())
		}
		return r.check(n.opts.CheckURL)
	})
	n.cache.forget()
	return e.Value.Endpoint, err
}

// Rotate gives an endpoint a new secret, generated if none is given, and returns it. The previous
// one also signs for keep. By is the caller.
func (n *Notifier) Rotate(ctx context.Context, id, secretText string, keep time.Duration, by string) (Endpoint, string, error) {
	if secretText == "" {
		secretText = NewSecret()
	}
	if err := checkSecret(secretText); err != nil {
		return Endpoint{}, "", err
	}
	e, err := n.webhooks.Update(ctx, id, func(r *endpointRecord) error {
		old, err := n.unseal(placeOfEndpoint(r.ID), r.Sealed)
		if err != nil {
			return err
		}
		r.Set = weir.Stamp{By: by, At: wall()}
		return n.sign(r, old.rotate(secretText, wall(), keep))
	})
	if err != nil {
		return Endpoint{}, "", err
	}
	return e.Value.Endpoint, secretText, nil
}

// Remove removes an endpoint and cancels its pending deliveries. If that fails for some, or an
// event is noted at the same moment, they are cancelled at their next attempt.
func (n *Notifier) Remove(ctx context.Context, id string) error {
	defer n.cache.forget()
	if err := n.webhooks.Delete(ctx, id); err != nil {
		return err
	}
	for e, err := range n.notices.All(ctx, pendingList) {
		if err == nil && e.Value.Endpoint == id {
			err = n.cancel(ctx, e.Name, e.Value.Delivery)
		}
		if err != nil {
			n.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "cannot cancel deliveries of a removed endpoint",
				slog.String("endpoint", id), slog.Any("error", err))
		}
	}
	return nil
}

// cancel ends a pending delivery whose endpoint was removed.
func (n *Notifier) cancel(ctx context.Context, notice, id string) error {
	cancelled := false
	e, err := n.deliveries.Update(ctx, id, func(d *Delivery) error {
		cancelled = d.cancel(wall())
		return nil
	})
	if err != nil && !errors.Is(err, weir.ErrNotFound) {
		return err
	}
	if cancelled {
		n.opts.Counted(e.Value.Kind, ResultCancelled, 0)
	}
	n.drop(ctx, notice)
	return nil
}

// Endpoint returns a registered endpoint, or [weir.ErrNotFound].
func (n *Notifier) Endpoint(ctx context.Context, id string) (Endpoint, error) {
	e, err := n.webhooks.Get(ctx, id)
	return e.Value.Endpoint, err
}

// Endpoints lists registered endpoints after an id, the oldest first, at most limit.
func (n *Notifier) Endpoints(ctx context.Context, after string, limit int) ([]Endpoint, error) {
	page, err := n.webhooks.List(ctx, "", after, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Endpoint, len(page))
	for i, e := range page {
		out[i] = e.Value.Endpoint
	}
	return out, nil
}

// gone disables an endpoint that answered 410 Gone. An endpoint that was removed is not an error.
func (n *Notifier) gone(ctx context.Context, id string) error {
	_, err := n.webhooks.Update(ctx, id, func(r *endpointRecord) error {
		r.disable("it answered 410 Gone", wall())
		return nil
	})
	n.cache.forget()
	if errors.Is(err, weir.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("disable %s: %w", id, err)
	}
	return nil
}
