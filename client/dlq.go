package client

import (
	"context"
	"io"
	"iter"
	"strconv"

	"github.com/weirhq/weir/api"
)

// DLQGroups returns the largest groups of failed items that were not retried or discarded: at most
// limit. The response also counts all groups and their items, which is all that a limit of 0 asks for.
func (c *Client) DLQGroups(ctx context.Context, f api.DLQFilter, limit int) (api.DLQGroups, error) {
	path := onwards(filtered(route("dlq", "groups"), f), "limit", strconv.Itoa(limit))
	return get[api.DLQGroups](ctx, c, "GET", path, nil)
}

// DLQ yields failed items that were not retried or discarded. The server refuses expressions here: they are for retry and discard.
func (c *Client) DLQ(ctx context.Context, f api.DLQFilter) iter.Seq2[api.ItemResult, error] {
	return list[api.ItemResult](ctx, c, filtered(route("dlq"), f))
}

func filtered(path string, f api.DLQFilter) string {
	return with(path, "bulk_action", f.BulkAction, "tenant", f.Tenant, "action", f.Action, "step", f.Step,
		"code", f.Code, "message", f.Message, "since", inQuery(f.Since), "expression", f.Expression)
}

// DLQResults streams such items as csv or ndjson. The caller closes it.
func (c *Client) DLQResults(ctx context.Context, f api.DLQFilter, format string) (io.ReadCloser, error) {
	path := filtered(route("dlq", "results"), f)
	if format != "" {
		path = onwards(path, "format", format)
	}
	return c.stream(ctx, path, "*/*")
}

// DLQRetry tries failed items again, as new, linked bulk actions.
func (c *Client) DLQRetry(ctx context.Context, r api.DLQRetry) (api.Linked, error) {
	return get[api.Linked](ctx, c, "POST", route("dlq", "retry"), r)
}

// DLQDiscard gives failed items up.
func (c *Client) DLQDiscard(ctx context.Context, d api.DLQDiscard) (api.Discarded, error) {
	return get[api.Discarded](ctx, c, "POST", route("dlq", "discard"), d)
}
