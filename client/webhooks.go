package client

import (
	"context"
	"iter"

	"github.com/weirhq/weir/api"
)

// Webhooks yields the endpoints that are told of events, the oldest first.
func (c *Client) Webhooks(ctx context.Context) iter.Seq2[api.Webhook, error] {
	return list[api.Webhook](ctx, c, route("webhooks"))
}

// Webhook returns an endpoint, without its secret.
func (c *Client) Webhook(ctx context.Context, id string) (api.Webhook, error) {
	return get[api.Webhook](ctx, c, "GET", route("webhooks", id), nil)
}

// CreateWebhook has events sent to an endpoint. The secret is in this answer only.
func (c *Client) CreateWebhook(ctx context.Context, w api.Webhook) (api.Webhook, error) {
	return get[api.Webhook](ctx, c, "POST", route("webhooks"), w)
}

// PutWebhook changes an endpoint as a whole, but for its secret.
func (c *Client) PutWebhook(ctx context.Context, id string, w api.Webhook) (api.Webhook, error) {
	return get[api.Webhook](ctx, c, "PUT", route("webhooks", id), w)
}

// DeleteWebhook removes an endpoint.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	return c.Do(ctx, "DELETE", route("webhooks", id), nil, nil)
}

// TestWebhook sends a test event and returns the result.
func (c *Client) TestWebhook(ctx context.Context, id string) (api.Delivery, error) {
	return get[api.Delivery](ctx, c, "POST", route("webhooks", id, "test"), nil)
}

// RotateWebhook signs with another secret, which is in this answer only.
func (c *Client) RotateWebhook(ctx context.Context, id string, r api.Rotate) (api.Webhook, error) {
	return get[api.Webhook](ctx, c, "POST", route("webhooks", id, "rotate"), r)
}

// Deliveries yields what was sent to a webhook, the newest first.
func (c *Client) Deliveries(ctx context.Context, webhook string) iter.Seq2[api.Delivery, error] {
	return list[api.Delivery](ctx, c, with(route("deliveries"), "webhook", webhook))
}

// BulkDeliveries yields what was sent of a bulk action, the newest first.
func (c *Client) BulkDeliveries(ctx context.Context, id string) iter.Seq2[api.Delivery, error] {
	return list[api.Delivery](ctx, c, route(bulkActions, id, "deliveries"))
}

// Delivery returns a delivery with its attempts.
func (c *Client) Delivery(ctx context.Context, id string) (api.Delivery, error) {
	return get[api.Delivery](ctx, c, "GET", route("deliveries", id), nil)
}

// Resend sends a delivery again, with the same id and bytes.
func (c *Client) Resend(ctx context.Context, id string) (api.Delivery, error) {
	return get[api.Delivery](ctx, c, "POST", route("deliveries", id, "resend"), nil)
}
