package client

import (
	"context"
	"iter"

	"github.com/weirhq/weir/api"
)

// Actions yields what can be done to items.
func (c *Client) Actions(ctx context.Context) iter.Seq2[api.Action, error] {
	return list[api.Action](ctx, c, route("actions"))
}

// Action returns an action.
func (c *Client) Action(ctx context.Context, name string) (api.Action, error) {
	return get[api.Action](ctx, c, "GET", route("actions", name), nil)
}

// PutAction makes an action, or changes it as a whole.
func (c *Client) PutAction(ctx context.Context, name string, a api.Action) (api.Action, error) {
	return get[api.Action](ctx, c, "PUT", route("actions", name), a)
}

// DeleteAction removes an action that was made over the API; one of the
// configuration file with the same name holds again.
func (c *Client) DeleteAction(ctx context.Context, name string) error {
	return c.Do(ctx, "DELETE", route("actions", name), nil, nil)
}

// TestAction sends a test batch to an action.
func (c *Client) TestAction(ctx context.Context, name string, t api.ActionTest) (api.TrialStep, error) {
	return get[api.TrialStep](ctx, c, "POST", route("actions", name, "test"), t)
}

// Resources yields the resources and their use.
func (c *Client) Resources(ctx context.Context) iter.Seq2[api.ResourceStatus, error] {
	return list[api.ResourceStatus](ctx, c, route("resources"))
}

// Resource returns a resource and how it is used.
func (c *Client) Resource(ctx context.Context, name string) (api.ResourceStatus, error) {
	return get[api.ResourceStatus](ctx, c, "GET", route("resources", name), nil)
}

// PutResource changes the limits of a resource; what is nil stays.
func (c *Client) PutResource(ctx context.Context, name string, r api.Resource) (api.ResourceStatus, error) {
	return get[api.ResourceStatus](ctx, c, "PUT", route("resources", name), r)
}

// ResetResource removes the limits that were set at run time: those of the
// configuration file, or else of the actions, hold again.
func (c *Client) ResetResource(ctx context.Context, name string) error {
	return c.Do(ctx, "DELETE", route("resources", name), nil, nil)
}

// Circuit opens or closes the circuit of a resource by hand, or lets it go by failures again.
func (c *Client) Circuit(ctx context.Context, resource string, to api.CircuitChange) (api.ResourceStatus, error) {
	return get[api.ResourceStatus](ctx, c, "POST", route("resources", resource, "circuit"), to)
}

// Tenants yields how much each tenant may use.
func (c *Client) Tenants(ctx context.Context) iter.Seq2[api.Tenant, error] {
	return list[api.Tenant](ctx, c, route("tenants"))
}

// Tenant returns how much a tenant may use.
func (c *Client) Tenant(ctx context.Context, name string) (api.Tenant, error) {
	return get[api.Tenant](ctx, c, "GET", route("tenants", name), nil)
}

// PutTenant says how much a tenant may use, as a whole.
func (c *Client) PutTenant(ctx context.Context, name string, t api.Tenant) (api.Tenant, error) {
	return get[api.Tenant](ctx, c, "PUT", route("tenants", name), t)
}

// ChangeTenant changes a part of what a tenant may use; edit may be called again.
func (c *Client) ChangeTenant(ctx context.Context, name string, edit func(*api.Tenant) error) (api.Tenant, error) {
	return change(ctx, c, route("tenants", name), edit)
}

// DeleteTenant removes what was set of a tenant at run time: it may use what the
// configuration file says, or else what every tenant may.
func (c *Client) DeleteTenant(ctx context.Context, name string) error {
	return c.Do(ctx, "DELETE", route("tenants", name), nil, nil)
}

// Connections yields the places where items are read from: databases, buckets and brokers.
func (c *Client) Connections(ctx context.Context) iter.Seq2[api.Connection, error] {
	return list[api.Connection](ctx, c, route("connections"))
}

// Connection returns a connection, without its secrets.
func (c *Client) Connection(ctx context.Context, name string) (api.Connection, error) {
	return get[api.Connection](ctx, c, "GET", route("connections", name), nil)
}

// PutConnection makes a connection, or changes it as a whole.
func (c *Client) PutConnection(ctx context.Context, name string, x api.Connection) (api.Connection, error) {
	return get[api.Connection](ctx, c, "PUT", route("connections", name), x)
}

// DeleteConnection removes a connection.
func (c *Client) DeleteConnection(ctx context.Context, name string) error {
	return c.Do(ctx, "DELETE", route("connections", name), nil, nil)
}

// TestConnection tries a connection, and reads the first items of a source over it if there is one.
func (c *Client) TestConnection(ctx context.Context, name string, t api.ConnectionTest) (api.ConnectionResult, error) {
	return get[api.ConnectionResult](ctx, c, "POST", route("connections", name, "test"), t)
}
