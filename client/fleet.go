package client

import (
	"context"
	"iter"

	"github.com/weirhq/weir/api"
)

// Lanes yields every lane, with its newest decision.
func (c *Client) Lanes(ctx context.Context) iter.Seq2[api.Lane, error] {
	return list[api.Lane](ctx, c, path("lanes"))
}

// Decisions yields what was decided about a lane, the newest first.
func (c *Client) Decisions(ctx context.Context, partition, lane string) iter.Seq2[api.Decision, error] {
	return list[api.Decision](ctx, c, path("lanes", partition, lane, "decisions"))
}

// Pin sets a lane's workers by hand, for a time.
func (c *Client) Pin(ctx context.Context, partition, lane string, p api.Pin) (api.Pin, error) {
	return get[api.Pin](ctx, c, "PUT", path("lanes", partition, lane, "pin"), p)
}

// Unpin lets a lane follow its load again.
func (c *Client) Unpin(ctx context.Context, partition, lane string) error {
	return c.Do(ctx, "DELETE", path("lanes", partition, lane, "pin"), nil, nil)
}

// Nodes yields the processes that run tasks.
func (c *Client) Nodes(ctx context.Context) iter.Seq2[api.Node, error] {
	return list[api.Node](ctx, c, path("nodes"))
}

// Partitions yields the independent queues.
func (c *Client) Partitions(ctx context.Context) iter.Seq2[api.Partition, error] {
	return list[api.Partition](ctx, c, path("partitions"))
}

// Fairness yields what each tenant should get of each resource, and what it gets.
func (c *Client) Fairness(ctx context.Context) iter.Seq2[api.TenantShare, error] {
	return list[api.TenantShare](ctx, c, path("fairness"))
}

// Scale is what an autoscaler of nodes wants to know.
func (c *Client) Scale(ctx context.Context) (api.Scale, error) {
	return get[api.Scale](ctx, c, "GET", path("scale"), nil)
}
