package client

import (
	"context"
	"io"
	"iter"

	"github.com/weirhq/weir/api"
)

// Lanes yields every lane, with its newest decision.
func (c *Client) Lanes(ctx context.Context) iter.Seq2[api.Lane, error] {
	return list[api.Lane](ctx, c, route("lanes"))
}

// Decisions returns the decisions about a lane, the newest first; a limit of 0 is the server's default.
func (c *Client) Decisions(ctx context.Context, partition, lane string, limit int) ([]api.Decision, error) {
	out, err := get[api.Decisions](ctx, c, "GET", with(route("lanes", partition, lane, "decisions"), "limit", positive(limit)), nil)
	return out.Data, err
}

// BulkDecisions returns the decisions about the lanes of a bulk action, the newest first.
func (c *Client) BulkDecisions(ctx context.Context, id string, limit int) ([]api.Decision, error) {
	out, err := get[api.Decisions](ctx, c, "GET", with(route(bulkActions, id, "decisions"), "limit", positive(limit)), nil)
	return out.Data, err
}

// Pin sets a lane's workers by hand, for a time.
func (c *Client) Pin(ctx context.Context, partition, lane string, p api.Pin) (api.Pin, error) {
	return get[api.Pin](ctx, c, "PUT", route("lanes", partition, lane, "pin"), p)
}

// Unpin lets a lane follow its load again.
func (c *Client) Unpin(ctx context.Context, partition, lane string) error {
	return c.Do(ctx, "DELETE", route("lanes", partition, lane, "pin"), nil, nil)
}

// Nodes yields the processes that run tasks.
func (c *Client) Nodes(ctx context.Context) iter.Seq2[api.Node, error] {
	return list[api.Node](ctx, c, route("nodes"))
}

// Partitions yields the independent queues.
func (c *Client) Partitions(ctx context.Context) iter.Seq2[api.Partition, error] {
	return list[api.Partition](ctx, c, route("partitions"))
}

// Partitioning returns the number of partitions that new work is spread over.
func (c *Client) Partitioning(ctx context.Context) (api.PartitioningStatus, error) {
	return get[api.PartitioningStatus](ctx, c, "GET", route("partitioning"), nil)
}

// SetPartitions changes the number of partitions. With dryRun it changes nothing and returns what would come of it.
func (c *Client) SetPartitions(ctx context.Context, n int, dryRun bool) (api.PartitioningStatus, error) {
	path := route("partitioning")
	if dryRun {
		path = with(path, "dry_run", "true")
	}
	return get[api.PartitioningStatus](ctx, c, "PUT", path, api.Partitioning{Partitions: n})
}

// Fairness returns the fair and the actual share of each tenant of a resource; without a name, of all resources.
func (c *Client) Fairness(ctx context.Context, resource string) ([]api.TenantShare, error) {
	out, err := get[api.Fairness](ctx, c, "GET", with(route("fairness"), "resource", resource), nil)
	return out.Data, err
}

// Scale returns the figures for an autoscaler of nodes.
func (c *Client) Scale(ctx context.Context) (api.Scale, error) {
	return get[api.Scale](ctx, c, "GET", route("scale"), nil)
}

// Scaling returns the scaling settings.
func (c *Client) Scaling(ctx context.Context) (api.ScalingSettings, error) {
	return get[api.ScalingSettings](ctx, c, "GET", route("scaling"), nil)
}

// ChangeScaling changes how workers follow the load; edit may be called again.
func (c *Client) ChangeScaling(ctx context.Context, edit func(*api.ScalingSettings) error) (api.ScalingSettings, error) {
	return change(ctx, c, route("scaling"), edit)
}

// Series returns the time series of a span, hour or day, of all resources together or of one.
func (c *Client) Series(ctx context.Context, span, resource string) (api.Series, error) {
	return get[api.Series](ctx, c, "GET", with(route("series"), "span", span, "resource", resource), nil)
}

// BulkSeries returns the time series of a bulk action.
func (c *Client) BulkSeries(ctx context.Context, id string) (api.BulkSeries, error) {
	return get[api.BulkSeries](ctx, c, "GET", route(bulkActions, id, "series"), nil)
}

// Backup streams a copy of the store. The caller closes it. One that ends with an error is not whole.
func (c *Client) Backup(ctx context.Context) (io.ReadCloser, error) {
	return c.stream(ctx, route("backup"), "*/*")
}
