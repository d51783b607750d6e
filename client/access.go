package client

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/weirhq/weir/api"
)

// RevokeKey makes an API key invalid for ever.
func (c *Client) RevokeKey(ctx context.Context, id string) (api.Key, error) {
	return get[api.Key](ctx, c, "DELETE", route("keys", id), nil)
}

// WhoAmI returns the scopes and tenants of the caller's API key.
func (c *Client) WhoAmI(ctx context.Context) (api.Whoami, error) {
	return get[api.Whoami](ctx, c, "GET", route("whoami"), nil)
}

// Health returns the health of the server.
func (c *Client) Health(ctx context.Context) (api.Health, error) {
	return get[api.Health](ctx, c, "GET", "/healthz", nil)
}

// AuditFilter says which changes are meant. The zero value means all.
type AuditFilter struct {
	Tenant, Target, Actor string
	// Action is the change; a value that ends with a dot is a prefix.
	Action   string
	From, To time.Time
}

func (f AuditFilter) path(format string) string {
	return with(route("audit"), "tenant", f.Tenant, "target", f.Target, "actor", f.Actor, "action", f.Action, "from",
		inQuery(f.From), "to", inQuery(f.To), "format", format)
}

// Audit yields changes, the newest first: who, what, when, from where.
func (c *Client) Audit(ctx context.Context, f AuditFilter) iter.Seq2[api.AuditEntry, error] {
	return list[api.AuditEntry](ctx, c, f.path(""))
}

// AuditExport streams changes as csv or ndjson. The caller closes it.
func (c *Client) AuditExport(ctx context.Context, f AuditFilter, format string) (io.ReadCloser, error) {
	return c.stream(ctx, f.path(format), "*/*")
}
