package client

import (
	"context"
	"iter"
	"time"

	"github.com/weirhq/weir/api"
)

// DLQGroups yields groups of failed items that nobody has retried or discarded.
func (c *Client) DLQGroups(ctx context.Context, f api.DLQFilter) iter.Seq2[api.DLQGroup, error] {
	return list[api.DLQGroup](ctx, c, filtered(path("dlq", "groups"), f))
}

// DLQ yields failed items that nobody has retried or discarded.
func (c *Client) DLQ(ctx context.Context, f api.DLQFilter) iter.Seq2[api.ItemResult, error] {
	return list[api.ItemResult](ctx, c, filtered(path("dlq"), f))
}

func filtered(path string, f api.DLQFilter) string {
	since := ""
	if !f.Since.IsZero() {
		since = f.Since.UTC().Format(time.RFC3339)
	}
	return with(path, "bulk_action", f.BulkAction, "tenant", f.Tenant, "action", f.Action, "step", f.Step,
		"code", f.Code, "message", f.Message, "since", since, "expression", f.Expression)
}

// DLQRetry tries failed items again, as new, linked bulk actions.
func (c *Client) DLQRetry(ctx context.Context, r api.DLQRetry) (api.Linked, error) {
	return get[api.Linked](ctx, c, "POST", path("dlq", "retry"), r)
}

// DLQDiscard gives failed items up.
func (c *Client) DLQDiscard(ctx context.Context, d api.DLQDiscard) (api.Discarded, error) {
	return get[api.Discarded](ctx, c, "POST", path("dlq", "discard"), d)
}
