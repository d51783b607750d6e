package client

import (
	"context"
	"iter"

	"github.com/weirhq/weir/api"
)

// Templates yields the templates that bulk actions can be made from.
func (c *Client) Templates(ctx context.Context) iter.Seq2[api.Template, error] {
	return list[api.Template](ctx, c, route("templates"))
}

// Template returns a template.
func (c *Client) Template(ctx context.Context, name string) (api.Template, error) {
	return get[api.Template](ctx, c, "GET", route("templates", name), nil)
}

// PutTemplate makes a template, or changes it as a whole. What was made from it stays as it is.
func (c *Client) PutTemplate(ctx context.Context, name string, t api.Template) (api.Template, error) {
	return get[api.Template](ctx, c, "PUT", route("templates", name), t)
}

// ChangeTemplate changes a part of a template; edit may be called again.
func (c *Client) ChangeTemplate(ctx context.Context, name string, edit func(*api.Template) error) (api.Template, error) {
	return change(ctx, c, route("templates", name), edit)
}

// DeleteTemplate removes a template. What was made from it stays as it is.
func (c *Client) DeleteTemplate(ctx context.Context, name string) error {
	return c.Do(ctx, "DELETE", route("templates", name), nil, nil)
}
