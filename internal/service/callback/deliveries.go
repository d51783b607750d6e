package callback

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/due"
	"github.com/weirhq/weir/internal/service/records"
)

// Resend starts a delivery again, whether it failed or not. A pending delivery stays as it is.
func (n *Notifier) Resend(ctx context.Context, id string) (Delivery, error) {
	d, err := n.Get(ctx, id)
	if err != nil {
		return Delivery{}, err
	}
	host, err := n.hostNow(ctx, d)
	if err != nil {
		return Delivery{}, err
	}
	// The notice comes first: a crash leaves an extra notice, which is removed when it is found.
	next := d
	next.again(wall())
	next.Due = wall()
	if err := n.putNotice(ctx, pendingName(next), noticeOf(next, host)); err != nil {
		return Delivery{}, err
	}
	e, err := n.deliveries.Update(ctx, id, func(now *Delivery) error {
		now.again(wall())
		return nil
	})
	if err != nil {
		return Delivery{}, err
	}
	if d = e.Value; d.Round != next.Round { // another caller did the same, and more
		err = n.putNotice(ctx, pendingName(d), noticeOf(d, host))
	}
	if err == nil && n.opts.Owns(d.BulkAction) {
		n.runner.Add(jobOf(d, host))
	}
	return d, err
}

// hostNow returns the host of a delivery, or an error if its endpoint is gone.
func (n *Notifier) hostNow(ctx context.Context, d Delivery) (string, error) {
	if d.Kind == KindKafka {
		return d.Endpoint, nil
	}
	if d.Endpoint == "" {
		return hostOf(d.URL), nil
	}
	e, err := n.table.Get(ctx, d.Endpoint)
	if errors.Is(err, weir.ErrNotFound) { // not the delivery, which the caller asked for
		err = &weir.FieldError{Code: "not_found", Field: "webhook", Problem: fmt.Sprintf("%s, of %s, was deleted", d.Endpoint, d.ID),
			Fix: "create a webhook: it gets the events from then on"}
	}
	return hostOf(e.Value.URL), err
}

// Test sends a ping to a registered endpoint or a topic, once, enabled or not, and returns the
// result.
func (n *Notifier) Test(ctx context.Context, endpoint string) (Delivery, error) {
	to := destination{kind: KindKafka, endpoint: endpoint, host: endpoint, once: true}
	ev := Event{Type: TypePing, At: wall(), Data: []byte(`{"message":"This is a test. Nothing has happened."}`)}
	if n.sender.topics[endpoint] == nil {
		e, err := n.table.Get(ctx, endpoint)
		if err != nil {
			return Delivery{}, err
		}
		to.kind, to.host, ev.Tenant = KindHTTP, hostOf(e.Value.URL), e.Value.Tenant
	}
	ev.ID = "evt_" + digest(endpoint, rand.Text()) // every test is a new event
	kept, err := n.keepEvent(ctx, ev)
	if err != nil {
		return Delivery{}, err
	}
	// Claimed from the start, unlike in Run, which finds the notice and must leave it alone.
	c := &due.Claim{By: n.node + ".test", Until: wall().Add(n.opts.Timeout + claimBeyond)}
	d, err := n.keepDelivery(ctx, ev.ID, kept, to, c)
	if err != nil {
		return Delivery{}, err
	}
	a, err := n.sender.send(ctx, d)
	if err != nil {
		return Delivery{}, fmt.Errorf("test %s: %w", endpoint, err)
	}
	n.finish(ctx, jobOf(d, to.host), c, a)
	return n.Get(ctx, d.ID)
}

// Remove removes an endpoint and cancels its pending deliveries. If that fails for some, or an
// event is noted at the same moment, they are cancelled at their next attempt.
func (n *Notifier) Remove(ctx context.Context, id string) error {
	defer n.cache.forget()
	if err := n.table.Delete(ctx, id); err != nil {
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
	_, err := n.deliveries.Update(ctx, id, func(d *Delivery) error {
		cancelled = d.cancel(wall())
		return nil
	})
	if err := records.IgnoreGone(err); err != nil {
		return err
	}
	if cancelled {
		n.opts.Counted(ResultCancelled)
	}
	n.drop(ctx, notice)
	return nil
}
