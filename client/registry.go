package client

import (
	"context"
	"iter"

	"github.com/weirhq/weir/api"
)

// Actions yields what can be done to items.
func (c *Client) Actions(ctx context.Context) iter.Seq2[api.Action, error] {
	return list[api.Action](ctx, c, path("actions"))
}

// Action returns an action.
func (c *Client) Action(ctx context.Context, name string) (api.Action, error) {
	return get[api.Action](ctx, c, "GET", path("actions", name), nil)
}

// PutAction makes an action, or changes it as a whole.
func (c *Client) PutAction(ctx context.Context, name string, a api.Action) (api.Action, error) {
	return get[api.Action](ctx, c, "PUT", path("actions", name), a)
}

// DeleteAction removes an action that nothing uses.
func (c *Client) DeleteAction(ctx context.Context, name string) error {
	return c.Do(ctx, "DELETE", path("actions", name), nil, nil)
}

// TestAction sends a made-up batch to an action.
func (c *Client) TestAction(ctx context.Context, name string, t api.ActionTest) (api.TrialStep, error) {
	return get[api.TrialStep](ctx, c, "POST", path("actions", name, "test"), t)
}

// Resources yields what is downstream, and how it is used.
func (c *Client) Resources(ctx context.Context) iter.Seq2[api.ResourceStatus, error] {
	return list[api.ResourceStatus](ctx, c, path("resources"))
}

// Resource returns a resource and how it is used.
func (c *Client) Resource(ctx context.Context, name string) (api.ResourceStatus, error) {
	return get[api.ResourceStatus](ctx, c, "GET", path("resources", name), nil)
}

// PutResource changes the limits of a resource; what is nil stays.
func (c *Client) PutResource(ctx context.Context, name string, r api.Resource) (api.ResourceStatus, error) {
	return get[api.ResourceStatus](ctx, c, "PUT", path("resources", name), r)
}

// Circuit opens or closes the circuit of a resource by hand, or lets it go by failures again.
func (c *Client) Circuit(ctx context.Context, resource string, to api.CircuitChange) (api.ResourceStatus, error) {
	return get[api.ResourceStatus](ctx, c, "POST", path("resources", resource, "circuit"), to)
}

// Tenants yields how much each tenant may use.
func (c *Client) Tenants(ctx context.Context) iter.Seq2[api.Tenant, error] {
	return list[api.Tenant](ctx, c, path("tenants"))
}

// Tenant returns how much a tenant may use.
func (c *Client) Tenant(ctx context.Context, name string) (api.Tenant, error) {
	return get[api.Tenant](ctx, c, "GET", path("tenants", name), nil)
}

// PutTenant says how much a tenant may use.
func (c *Client) PutTenant(ctx context.Context, name string, t api.Tenant) (api.Tenant, error) {
	return get[api.Tenant](ctx, c, "PUT", path("tenants", name), t)
}

// Connections yields the named ways to where items are read from.
func (c *Client) Connections(ctx context.Context) iter.Seq2[api.Connection, error] {
	return list[api.Connection](ctx, c, path("connections"))
}

// Connection returns a connection, without its secrets.
func (c *Client) Connection(ctx context.Context, name string) (api.Connection, error) {
	return get[api.Connection](ctx, c, "GET", path("connections", name), nil)
}

// PutConnection makes a connection, or changes it as a whole.
func (c *Client) PutConnection(ctx context.Context, name string, x api.Connection) (api.Connection, error) {
	return get[api.Connection](ctx, c, "PUT", path("connections", name), x)
}

// DeleteConnection removes a connection.
func (c *Client) DeleteConnection(ctx context.Context, name string) error {
	return c.Do(ctx, "DELETE", path("connections", name), nil, nil)
}
