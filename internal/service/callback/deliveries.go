package callback

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/weirhq/weir"
)

// Get returns a delivery, or [weir.ErrNotFound].
func (n *Notifier) Get(ctx context.Context, id string) (Delivery, error) {
	e, err := n.deliveries.Get(ctx, id)
	return e.Value, err
}

// Query selects the deliveries to list: those of a bulk action, or else of an endpoint or topic,
// or else of URLs that came with events.
type Query struct {
	BulkAction string
	Endpoint   string
	// After is the Next of the previous page.
	After string
	// Limit is the maximum to return. Default 50, at most 500.
	Limit int
}

// Page is one page of a list of deliveries.
type Page struct {
	Deliveries []Delivery // those of the newest events first
	Next       string     // empty on the last page
}

// List returns deliveries, a page at a time.
func (n *Notifier) List(ctx context.Context, q Query) (Page, error) {
	prefix := ofEndpoint(q.Endpoint)
	if q.BulkAction != "" {
		prefix = ofBulk(q.BulkAction)
	}
	if q.Limit < 1 {
		q.Limit = 50
	}
	limit := min(q.Limit, 500)
	after := ""
	if q.After != "" {
		after = prefix + q.After
	}
	found, err := n.notices.List(ctx, prefix, after, limit)
	if err != nil {
		return Page{}, err
	}
	var p Page
	for _, f := range found {
		d, err := n.Get(ctx, listedID(f.Name))
		if errors.Is(err, weir.ErrNotFound) {
			continue // being pruned
		}
		if err != nil {
			return Page{}, err
		}
		p.Deliveries = append(p.Deliveries, d)
	}
	if len(found) == limit {
		p.Next = found[limit-1].Name[len(prefix):]
	}
	return p, nil
}

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
		n.push(jobOf(d, host))
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
	e, err := n.webhooks.Get(ctx, d.Endpoint)
	return hostOf(e.Value.URL), err
}

// Test sends a ping to a registered endpoint or a topic, once, enabled or not, and returns the
// result.
func (n *Notifier) Test(ctx context.Context, endpoint string) (Delivery, error) {
	to := destination{kind: KindKafka, endpoint: endpoint, host: endpoint, once: true}
	ev := Event{Type: TypePing, At: wall(), Data: []byte(`{"message":"This is a test. Nothing has happened."}`)}
	if n.topics[endpoint] == nil {
		e, err := n.webhooks.Get(ctx, endpoint)
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
	c := &claim{n.node + ".test", wall().Add(n.opts.Timeout + claimBeyond)}
	d, err := n.keepDelivery(ctx, ev.ID, kept, to, c)
	if err != nil {
		return Delivery{}, err
	}
	a, err := n.send(ctx, d)
	if err != nil {
		return Delivery{}, fmt.Errorf("test %s: %w", endpoint, err)
	}
	n.finish(ctx, jobOf(d, to.host), c, a)
	return n.Get(ctx, d.ID)
}
