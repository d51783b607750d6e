package client

import (
	"context"
	"iter"
	"strings"

	"github.com/weirhq/weir/api"
)

// list yields the entries of a list, page by page. An error is the last thing it yields.
func list[T any](ctx context.Context, c *Client, path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for next := path; ; {
			var page api.Page[T]
			if err := c.Do(ctx, "GET", next, nil, &page); err != nil {
				yield(none, err)
				return
			}
			for _, v := range page.Data {
				if !yield(v, nil) {
					return
				}
			}
			if !page.HasMore || page.NextCursor == "" {
				return
			}
			next = onward(path, page.NextCursor)
		}
	}
}

// onward is the path of the next page.
func onward(path, cursor string) string {
	if strings.Contains(path, "?") {
		return path + "&" + with("", "cursor", cursor)[1:]
	}
	return with(path, "cursor", cursor)
}

// get asks for one value.
func get[T any](ctx context.Context, c *Client, method, path string, in any) (out T, err error) {
	err = c.Do(ctx, method, path, in, &out)
	return out, err
}
