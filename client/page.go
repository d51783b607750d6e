package client

import (
	"context"
	"iter"
	"net/http"
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
			next = onwards(path, "cursor", page.NextCursor)
		}
	}
}

// onwards adds to the query of a path.
func onwards(path, name, value string) string {
	if strings.Contains(path, "?") {
		return path + "&" + with("", name, value)[1:]
	}
	return with(path, name, value)
}

// get asks for one value.
func get[T any](ctx context.Context, c *Client, method, path string, in any) (out T, err error) {
	err = c.Do(ctx, method, path, in, &out)
	return out, err
}

// change reads a value, edits it, and writes it back. If another caller changed it meanwhile, it starts again.
func change[T any](ctx context.Context, c *Client, path string, edit func(*T) error) (out T, err error) {
	for try := 1; ; try++ {
		var now T
		tag := ""
		h := http.Header{}
		err := c.call(ctx, request{method: "GET", path: path, out: &now, tag: &tag})
		switch {
		case IsCode(err, "not_found"):
			h.Set("If-None-Match", "*")
		case err != nil:
			return out, err
		case tag != "":
			h.Set("If-Match", tag)
		}
		if err := edit(&now); err != nil {
			return out, err
		}
		err = c.call(ctx, request{method: "PUT", path: path, header: h, in: now, out: &out})
		if !IsCode(err, "changed_meanwhile") || try >= c.opts.Tries {
			return out, err
		}
	}
}
