package client

import (
	"context"

	"github.com/weirhq/weir/api"
)

// TestAction sends a test batch to an action.
func (c *Client) TestAction(ctx context.Context, name string, t api.ActionTest) (api.TrialStep, error) {
	return get[api.TrialStep](ctx, c, "POST", route("actions", name, "test"), t)
}

// PutResource changes the limits of a resource; what is nil stays.
func (c *Client) PutResource(ctx context.Context, name string, r api.Resource) (api.ResourceStatus, error) {
	return get[api.ResourceStatus](ctx, c, "PUT", route("resources", name), r)
}

// Circuit opens, closes or probes the circuit of a resource by hand, or lets it go by failures again.
func (c *Client) Circuit(ctx context.Context, resource string, to api.CircuitChange) (api.ResourceStatus, error) {
	return get[api.ResourceStatus](ctx, c, "POST", route("resources", resource, "circuit"), to)
}

// TestConnection tries a connection, and reads the first items of a source over it if there is one.
func (c *Client) TestConnection(ctx context.Context, name string, t api.ConnectionTest) (api.ConnectionResult, error) {
	return get[api.ConnectionResult](ctx, c, "POST", route("connections", name, "test"), t)
}
