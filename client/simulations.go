package client

import (
	"context"

	"github.com/weirhq/weir/api"
)

// Simulate tells what would be if something were different.
func (c *Client) Simulate(ctx context.Context, what api.Simulation) (api.Simulated, error) {
	return get[api.Simulated](ctx, c, "POST", route("simulations"), what)
}
