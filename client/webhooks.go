package client

import (
	"context"
	"iter"

	"github.com/weirhq/weir/api"
)

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
