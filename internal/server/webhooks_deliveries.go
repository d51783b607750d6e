package server

import (
	"cmp"
	"context"
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/callback"
)

const deliveryPath = "/v1/deliveries"

// DeliveryID is the id in a path; exported for huma.
type DeliveryID struct {
	ID string `path:"id" maxLength:"128" doc:"Id of the delivery"`
}

func (s *Server) deliveryRoutes() {
	h := webhooks{s, s.opts.Webhooks}
	tag := "webhooks"
	add(s, get(access.Read, "bulk_action.deliveries", bulkPath+"/{id}/deliveries", tag,
		"List the deliveries of a bulk action, the newest first"), ofBulk(s, h.listOfBulk))
	add(s, get(access.Read, "delivery.list", deliveryPath, tag,
		"List the deliveries of a webhook, the newest first"), h.listDeliveries)
	add(s, get(access.Read, "delivery.get", deliveryPath+"/{id}", tag,
		"Get a delivery with its attempts"), h.getDelivery)
	add(s, post(access.Control, "delivery.resend", deliveryPath+"/{id}/resend", tag,
		"Send a delivery again, with the same id and bytes"), h.resend)
}

// viewDelivery is a delivery as the API shows it; url is that of its webhook.
func viewDelivery(d *callback.Delivery, url string) api.Delivery {
	out := api.Delivery{
		ID: d.ID, Event: d.Event, Type: d.Type, Webhook: d.Endpoint, BulkAction: d.BulkAction, Tenant: d.Tenant,
		URL: cmp.Or(d.URL, url), Kind: d.Kind,
		State: string(d.State), Next: d.Due, CreatedAt: d.At, Attempts: []api.DeliveryAttempt{},
	}
	if d.State == callback.Pending {
		out.State = "waiting"
	}
	for _, a := range d.Attempts {
		out.Attempts = append(out.Attempts, api.DeliveryAttempt{
			At: a.At, Took: api.Duration(a.Took), Status: a.Status, Code: string(a.Code), Error: a.Error, Answer: a.Answer,
		})
	}
	return out
}

// deliverySight knows which deliveries a caller sees, of one request.
type deliverySight struct {
	s    webhooks
	ctx  context.Context
	urls map[string]string // of webhooks that were looked up and are seen
}

func (s webhooks) sight(ctx context.Context) *deliverySight {
	return &deliverySight{s, ctx, map[string]string{}}
}

// url finds out where a delivery goes, if the caller sees it: the event has to be
// of its tenant, and the webhook as well. What went to the operator's webhooks and
// topics is the operator's.
func (v *deliverySight) url(d *callback.Delivery) (url string, seen bool, err error) {
	switch {
	case !sees(v.ctx, d.Tenant):
		return "", false, nil
	case d.Endpoint == "":
		return d.URL, true, nil
	}
	if url, ok := v.urls[d.Endpoint]; ok {
		return url, true, nil
	}
	e, err := v.s.of.Endpoint(v.ctx, d.Endpoint)
	if errors.Is(err, weir.ErrNotFound) { // removed, or a topic
		return "", caller(v.ctx).SeesAll(), nil
	}
	if err != nil || !seesWebhook(v.ctx, &e) {
		return "", false, err
	}
	v.urls[d.Endpoint] = e.URL
	return e.URL, true, nil
}

type bulkDeliveriesInput struct {
	BulkID
	Paging
}

func (s webhooks) listOfBulk(ctx context.Context, in *bulkDeliveriesInput) (*body[api.Page[api.Delivery]], error) {
	return answer(s.deliveries(ctx, &in.Paging, callback.Query{BulkAction: in.ID}))
}

type deliveriesInput struct {
	Paging
	Webhook string `query:"webhook" required:"true" minLength:"1" maxLength:"128" doc:"Id of the webhook, or topic_ and the name of a topic"`
}

func (s webhooks) listDeliveries(ctx context.Context, in *deliveriesInput) (*body[api.Page[api.Delivery]], error) {
	_, err := s.myWebhook(ctx, in.Webhook)
	if err != nil && (!errors.Is(err, weir.ErrNotFound) || !caller(ctx).SeesAll()) {
		return nil, err // operators see what was sent to topics, and to what is removed
	}
	return answer(s.deliveries(ctx, &in.Paging, callback.Query{Endpoint: in.Webhook}))
}

// deliveries is a page of deliveries. A page may be short, and is not the last then.
func (s webhooks) deliveries(ctx context.Context, in *Paging, q callback.Query) (page api.Page[api.Delivery], err error) {
	list := "deliveries of " + q.BulkAction + " " + q.Endpoint
	if q.After, err = openCursor(in.Cursor, list); err != nil {
		return page, err
	}
	q.Limit = min(in.Limit, 500)
	found, err := s.of.List(ctx, q)
	if err != nil {
		return page, err
	}
	sight := s.sight(ctx)
	page = pageWith([]api.Delivery{}, found.Next, list)
	for i := range found.Deliveries {
		url, seen, err := sight.url(&found.Deliveries[i])
		if err != nil {
			return page, err
		}
		if seen {
			page.Data = append(page.Data, viewDelivery(&found.Deliveries[i], url))
		}
	}
	return page, nil
}

// myDelivery finds a delivery that the caller sees.
func (s webhooks) myDelivery(ctx context.Context, id string) (d callback.Delivery, url string, err error) {
	d, err = s.of.Get(ctx, id)
	if err != nil {
		return d, "", err
	}
	url, seen, err := s.sight(ctx).url(&d)
	if err == nil && !seen {
		err = weir.ErrNotFound
	}
	if err == nil {
		changed(ctx, id, d.Tenant)
	}
	return d, url, err
}

func (s webhooks) getDelivery(ctx context.Context, in *DeliveryID) (*body[api.Delivery], error) {
	d, url, err := s.myDelivery(ctx, in.ID)
	return answer(viewDelivery(&d, url), err)
}

type resendInput struct {
	DeliveryID
	Body *api.Verb
}

func (s webhooks) resend(ctx context.Context, in *resendInput) (*body[api.Delivery], error) {
	_, url, err := s.myDelivery(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	d, err := s.of.Resend(ctx, in.ID)
	return answer(viewDelivery(&d, url), err)
}
