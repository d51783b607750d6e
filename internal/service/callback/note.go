package callback

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/service/records"
	"golang.org/x/sync/errgroup"
)

// Target is an endpoint that comes with an event: the callback of one bulk action.
type Target struct {
	URL string
	// Secret signs, such as "whsec_…"; several are separated by spaces. Default: the Secret of the
	// options.
	Secret string
}

// destination is the target of one delivery.
type destination struct {
	kind     string
	endpoint string // id, empty for a Target
	host     string
	target   Target
	once     bool
}

// key distinguishes the destinations of one event.
func (d destination) key() string {
	if d.endpoint != "" {
		return d.endpoint
	}
	return "url " + d.target.URL
}

// notedAtOnce bounds the concurrent writes for one event: a store makes several writes durable in
// little more time than one.
const notedAtOnce = 8

// Note creates a delivery of the event for each endpoint that wants it and for oneOff, if given.
// It returns nil when all of them are durable. After an error some may be: the caller must note
// the event again until Note returns nil. Noting an event again does not change existing
// deliveries.
func (n *Notifier) Note(ctx context.Context, ev Event, oneOff *Target) error {
	if err := ev.check(); err != nil {
		return err
	}
	to, err := n.destinations(ctx, ev, oneOff)
	if err != nil || len(to) == 0 {
		return err
	}
	kept, err := n.keepEvent(ctx, ev)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(notedAtOnce)
	for _, dest := range to {
		g.Go(func() error {
			d, err := n.keepDelivery(gctx, ev.ID, kept, dest, nil)
			if err != nil {
				return fmt.Errorf("note event %s: %w", ev.ID, err)
			}
			if d.State == Pending && n.opts.Owns(d.BulkAction) {
				n.push(jobOf(d, dest.host))
			}
			return nil
		})
	}
	return g.Wait()
}

func (n *Notifier) destinations(ctx context.Context, ev Event, oneOff *Target) ([]destination, error) {
	var to []destination
	if oneOff != nil {
		to = append(to, destination{kind: KindHTTP, host: hostOf(oneOff.URL), target: *oneOff})
	}
	for id, p := range n.topics {
		if p.wants(ev) {
			to = append(to, destination{kind: KindKafka, endpoint: id, host: id})
		}
	}
	endpoints, err := n.registered(ctx)
	for _, e := range endpoints {
		if e.wants(ev) {
			to = append(to, destination{kind: KindHTTP, endpoint: e.ID, host: hostOf(e.URL)})
		}
	}
	return to, err
}

// keepEvent returns the event as it is stored, by this call or an earlier one.
func (n *Notifier) keepEvent(ctx context.Context, ev Event) (eventRecord, error) {
	body, err := ev.body(n.opts.Source)
	if err != nil {
		return eventRecord{}, err
	}
	e, err := n.events.Insert(ctx, ev.ID, eventRecord{
		Type: ev.Type, Tenant: ev.Tenant, BulkAction: ev.BulkAction, At: ev.At.Round(0).UTC(), Body: body,
	})
	if errors.Is(err, records.ErrExists) {
		err = nil
	}
	return e.Value, err
}

// keepDelivery writes a delivery and its notices, or those of them that are missing.
func (n *Notifier) keepDelivery(ctx context.Context, event string, ev eventRecord, to destination, by *claim) (Delivery, error) {
	d := Delivery{
		ID: "dlv_" + digest(event, to.key()), Event: event, Type: ev.Type, Tenant: ev.Tenant, BulkAction: ev.BulkAction,
		At: ev.At, Kind: to.kind, Endpoint: to.endpoint, URL: to.target.URL,
		State: Pending, Round: 1, Due: wall(), Once: to.once, Claim: by,
	}
	d.Begun = d.Due
	if to.target.Secret != "" {
		var err error
		if d.Sealed, err = n.seal(placeOfDelivery(d.ID), secrets{{Text: to.target.Secret}}); err != nil {
			return Delivery{}, err
		}
	}
	e, err := n.deliveries.Insert(ctx, d.ID, d)
	if err != nil && !errors.Is(err, records.ErrExists) {
		return Delivery{}, err
	}
	d = e.Value
	if d.State != Pending {
		return d, nil // its notices exist, or it would not have been sent
	}
	for _, name := range listNames(d) {
		if err := n.putNotice(ctx, name, notice{Event: d.Event, BulkAction: d.BulkAction}); err != nil {
			return Delivery{}, err
		}
	}
	return d, n.putNotice(ctx, pendingName(d), noticeOf(d, to.host))
}

func (n *Notifier) putNotice(ctx context.Context, name string, v notice) error {
	_, err := n.notices.Put(ctx, name, func(held *notice, _ bool) error {
		*held = v
		return nil
	})
	return err
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
		BulkAction: d.BulkAction, Delivery: d.ID, Tenant: d.Tenant, Endpoint: d.Endpoint, Host: host, Round: d.Round, Due: d.Due, Since: d.Begun,
	}
}

func jobOf(d Delivery, host string) job {
	return job{pendingName(d), d.ID, d.BulkAction, lane{d.Tenant, d.Endpoint, host}, d.Round, d.Due}
}
