package client

import (
	"context"
	"iter"

	"github.com/weirhq/weir/api"
)

// Collection reads and changes the objects of one kind that a server keeps. The server refuses what a kind does not
// have: actions, connections, templates and tenants are put under a name that the caller chooses; schedules, webhooks
// and keys are created and get their id from the server.
type Collection[T any] struct {
	client *Client
	kind   string // the part of the path that names them
}

// List yields all objects, page by page. An error is the last it yields.
func (o Collection[T]) List(ctx context.Context) iter.Seq2[T, error] {
	return list[T](ctx, o.client, route(o.kind))
}

// Get returns an object by its name or id, without its secrets.
func (o Collection[T]) Get(ctx context.Context, name string) (T, error) {
	return get[T](ctx, o.client, "GET", route(o.kind, name), nil)
}

// Create makes an object under an id of the server's. A secret that the server makes with it is in this answer only.
func (o Collection[T]) Create(ctx context.Context, x T) (T, error) {
	return get[T](ctx, o.client, "POST", route(o.kind), x)
}

// Put makes an object, or replaces it as a whole. The secret of a webhook stays; see [Client.RotateWebhook].
func (o Collection[T]) Put(ctx context.Context, name string, x T) (T, error) {
	return get[T](ctx, o.client, "PUT", route(o.kind, name), x)
}

// Change edits an object, or creates it if it does not exist. If another caller changes it meanwhile, nothing is
// overwritten, and edit is called again with the newer one.
func (o Collection[T]) Change(ctx context.Context, name string, edit func(*T) error) (T, error) {
	return change(ctx, o.client, route(o.kind, name), edit)
}

// Delete removes an object. An action, a resource or a tenant of the configuration file is then as the file says.
func (o Collection[T]) Delete(ctx context.Context, name string) error {
	return o.client.Do(ctx, "DELETE", route(o.kind, name), nil, nil)
}

// Actions returns what can be done to items.
func (c *Client) Actions() Collection[api.Action] { return Collection[api.Action]{c, "actions"} }

// Connections returns the databases, buckets and brokers that items are read from.
func (c *Client) Connections() Collection[api.Connection] {
	return Collection[api.Connection]{c, "connections"}
}

// Templates returns the reusable bulk actions. Bulk actions that were made from one stay as they are.
func (c *Client) Templates() Collection[api.Template] {
	return Collection[api.Template]{c, "templates"}
}

// Tenants returns the tenants and how much each may use. A deleted one may use what every tenant may.
func (c *Client) Tenants() Collection[api.Tenant] { return Collection[api.Tenant]{c, "tenants"} }

// Schedules returns the schedules of bulk actions. Bulk actions of a deleted one stay.
func (c *Client) Schedules() Collection[api.Schedule] {
	return Collection[api.Schedule]{c, "schedules"}
}

// Webhooks returns the endpoints that receive events.
func (c *Client) Webhooks() Collection[api.Webhook] { return Collection[api.Webhook]{c, "webhooks"} }

// Keys returns the API keys, without their text. [Client.RevokeKey] makes one invalid.
func (c *Client) Keys() Collection[api.Key] { return Collection[api.Key]{c, "keys"} }

// Resources returns the downstream systems with their limits and their use. [Client.PutResource] sets limits; Delete
// removes those that were set at run time.
func (c *Client) Resources() Collection[api.ResourceStatus] {
	return Collection[api.ResourceStatus]{c, "resources"}
}
