package callback

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/due"
	"github.com/weirhq/weir/internal/service/records"
)

// source is the source of all events, as a URI reference.
const source = "/weir"

// outbox holds events, their deliveries, and the lists of these; see DESIGN.md for the order in which
// they are written.
type outbox struct {
	events     *records.Table[eventRecord]
	deliveries *records.Table[Delivery]
	notices    *records.Table[notice]
	secrets    sealing
	log        *slog.Logger
}

// notice is an entry of a list.
type notice struct {
	Event      string `json:"event,omitempty"`
	BulkAction string `json:"bulk_action,omitempty"`
	// What a node needs to know of a pending delivery before it claims it. Due is never later than
	// that of the delivery.
	Delivery string    `json:"delivery,omitempty"`
	Tenant   string    `json:"tenant,omitempty"`
	Endpoint string    `json:"endpoint,omitempty"`
	Host     string    `json:"host,omitempty"`
	Round    int       `json:"round,omitempty"`
	Due      time.Time `json:"due,omitzero"`
	Since    time.Time `json:"since,omitzero"` // when the delivery's round began
}

func noticeOf(d Delivery, host string) notice {
	return notice{
		BulkAction: d.BulkAction, Delivery: d.ID, Tenant: d.Tenant, Endpoint: d.Endpoint, Host: host, Round: d.Round,
		Due: d.Due, Since: d.Begun,
	}
}

// keepEvent returns the event as it is stored, by this call or an earlier one.
func (o *outbox) keepEvent(ctx context.Context, ev Event) (eventRecord, error) {
	body, err := ev.body(source)
	if err != nil {
		return eventRecord{}, err
	}
	e, err := o.events.Insert(ctx, ev.ID, eventRecord{
		Type: ev.Type, Tenant: ev.Tenant, BulkAction: ev.BulkAction, At: ev.At.Round(0).UTC(), Trace: ev.Trace, Body: body,
	})
	if errors.Is(err, records.ErrExists) {
		err = nil
	}
	return e.Value, err
}

// keepDelivery writes a delivery and its notices, or those of them that are missing.
func (o *outbox) keepDelivery(ctx context.Context, event string, ev eventRecord, to destination, by *due.Claim) (Delivery, error) {
	d := Delivery{
		ID: "dlv_" + digest(event, to.key()), Event: event, Type: ev.Type, Tenant: ev.Tenant, BulkAction: ev.BulkAction,
		At: ev.At, Kind: to.kind, Endpoint: to.endpoint, URL: to.target.URL,
		State: Pending, Round: 1, Due: wall(), Once: to.once, Claim: by,
	}
	d.Begun = d.Due
	if to.target.Secret != "" {
		var err error
		if d.Sealed, err = o.secrets.seal(placeOfDelivery(d.ID), secrets{{Text: to.target.Secret}}); err != nil {
			return Delivery{}, err
		}
	}
	e, err := o.deliveries.Insert(ctx, d.ID, d)
	if err != nil && !errors.Is(err, records.ErrExists) {
		return Delivery{}, err
	}
	d = e.Value
	if d.State != Pending {
		return d, nil // its notices exist, or it would not have been sent
	}
	for _, name := range listNames(d) {
		if err := o.putNotice(ctx, name, notice{Event: d.Event, BulkAction: d.BulkAction}); err != nil {
			return Delivery{}, err
		}
	}
	return d, o.putNotice(ctx, pendingName(d), noticeOf(d, to.host))
}

func (o *outbox) putNotice(ctx context.Context, name string, v notice) error {
	_, err := o.notices.Put(ctx, name, func(held *notice, _ bool) error {
		*held = v
		return nil
	})
	return err
}

// drop removes a pending notice. If that fails, a scan finds it and drops it again.
func (o *outbox) drop(ctx context.Context, name string) {
	if err := records.IgnoreGone(o.notices.Delete(ctx, name)); err != nil {
		o.log.LogAttrs(ctx, slog.LevelWarn, "cannot remove a notice", slog.String("notice", name), slog.Any("error", err))
	}
}

// Get returns a delivery, or [weir.ErrNotFound].
func (o *outbox) Get(ctx context.Context, id string) (Delivery, error) {
	e, err := o.deliveries.Get(ctx, id)
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
func (o *outbox) List(ctx context.Context, q Query) (Page, error) {
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
	found, err := o.notices.List(ctx, prefix, after, limit)
	if err != nil {
		return Page{}, err
	}
	var p Page
	for _, f := range found {
		d, err := o.Get(ctx, listedID(f.Name))
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
