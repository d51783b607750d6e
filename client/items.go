package client

import (
	"context"
	"io"
	"iter"
	"net/http"

	"github.com/weirhq/weir/api"
)

// ItemFilter says which items of a bulk action are meant. The zero value means all.
type ItemFilter struct {
	State string // ready, waiting, done, failed or cancelled
	Step  string
	Code  string
}

// Items yields the items of a bulk action and what became of them, in the order of the input.
func (c *Client) Items(ctx context.Context, id string, f ItemFilter) iter.Seq2[api.ItemResult, error] {
	return list[api.ItemResult](ctx, c, with(route(bulkActions, id, "items"), "state", f.State, "step", f.Step, "code", f.Code))
}

// Item tells what happened to an item, step by step. It is named as in [api.ItemResult].
func (c *Client) Item(ctx context.Context, item string) (api.ItemResult, error) {
	return get[api.ItemResult](ctx, c, "GET", route("items", item), nil)
}

// Lookup tells what happened to one of the user's own ids, in all bulk actions.
func (c *Client) Lookup(ctx context.Context, l api.Lookup) (api.Found, error) {
	return get[api.Found](ctx, c, "POST", route("items", "lookup"), l)
}

// ErrorGroups tells why items failed, the largest group first.
func (c *Client) ErrorGroups(ctx context.Context, id string) ([]api.ErrorGroup, error) {
	out, err := get[api.ErrorGroups](ctx, c, "GET", route(bulkActions, id, "error-groups"), nil)
	return out.Data, err
}

// Report returns the current report of a bulk action.
func (c *Client) Report(ctx context.Context, id string) (api.Report, error) {
	return get[api.Report](ctx, c, "GET", route(bulkActions, id, "report"), nil)
}

// Results streams the items in a state (done, failed, cancelled or all) in a
// format (csv or ndjson); empty words are the server's defaults. A stream that
// is cut off ends with an error, never as if it were whole. The caller closes it.
func (c *Client) Results(ctx context.Context, id, state, format string) (io.ReadCloser, error) {
	return c.ResultsAfter(ctx, id, state, format, "")
}

// ResultsAfter is Results from behind an item on, as the last whole row of a cut stream names it. It has no header.
func (c *Client) ResultsAfter(ctx context.Context, id, state, format, item string) (io.ReadCloser, error) {
	return c.stream(ctx, with(route(bulkActions, id, "results"), "state", state, "format", format, "after", item), "*/*")
}

// ResultsTable streams the items in a state as CSV, with a delimiter: comma, semicolon, tab, pipe, or input, which writes it
// as the uploaded file of the items is written.
func (c *Client) ResultsTable(ctx context.Context, id, state, delimiter string) (io.ReadCloser, error) {
	return c.stream(ctx, with(route(bulkActions, id, "results"), "state", state, "format", "csv", "delimiter", delimiter), "*/*")
}

// stream begins to read an answer of any length.
func (c *Client) stream(ctx context.Context, path, accept string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, request{method: "GET", path: path, header: http.Header{"Accept": {accept}}})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
