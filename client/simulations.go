package client

import (
	"context"

	"github.com/weirhq/weir/api"
)

// Simulate tells what would be if something were different.
func (c *Client) Simulate(ctx context.Context, what api.Simulation) (api.Simulated, error) {
	return get[api.Simulated](ctx, c, "POST", route("simulations"), what)
}

// Effect tells when running bulk actions would end with changed limits. It changes nothing.
func (c *Client) Effect(ctx context.Context, what api.LimitChanges) (api.Effect, error) {
	return get[api.Effect](ctx, c, "POST", route("effects"), what)
}
