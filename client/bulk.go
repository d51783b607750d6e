package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/weirhq/weir/api"
)

const bulkActions = "bulk-actions"

// Filter says which bulk actions are meant. The zero value means all.
type Filter struct {
	State  api.State
	Tenant string
	Name   string // words of the name, or how they begin, in any case and order
	Label  string // as in key=value
	// Template is the name of the one that they were made from.
	Template string
	RetryOf  string // id of the bulk action that they retry
	UndoOf   string // id of the bulk action that they undo
	// CreatedAfter leaves out those created before it, CreatedBefore those created at it or later. Zero: none.
	CreatedAfter, CreatedBefore time.Time
	// Progress asks for the progress of those that have not ended.
	Progress bool
}

// Create makes a bulk action: a draft, unless the request holds items or a source.
func (c *Client) Create(ctx context.Context, n api.NewBulkAction) (api.BulkAction, error) {
	return get[api.BulkAction](ctx, c, "POST", route(bulkActions), n)
}

// Get returns a bulk action as it is.
func (c *Client) Get(ctx context.Context, id string) (api.BulkAction, error) {
	return get[api.BulkAction](ctx, c, "GET", route(bulkActions, id), nil)
}

// List yields bulk actions, the newest first. The error is the last it yields.
func (c *Client) List(ctx context.Context, f Filter) iter.Seq2[api.BulkAction, error] {
	progress := ""
	if f.Progress {
		progress = "true"
	}
	return list[api.BulkAction](ctx, c, with(route(bulkActions), "state", string(f.State), "tenant", f.Tenant, "name",
		f.Name, "label", f.Label, "template", f.Template, "retry_of", f.RetryOf, "undo_of", f.UndoOf,
		"created_after", inQuery(f.CreatedAfter), "created_before", inQuery(f.CreatedBefore), "progress", progress))
}

// Append adds the items of a body to a draft, all of them or none: NDJSON
// (application/x-ndjson), CSV (text/csv) or a JSON array (application/json). An
// append with the same key and body changes nothing. A body that can be read again,
// being an io.Seeker, is sent again where that may help; another one is sent once.
func (c *Client) Append(ctx context.Context, id, contentType string, items io.Reader, key string) (api.Appended, error) {
	r := request{method: "POST", path: route(bulkActions, id, "items"), kind: contentType, header: http.Header{}}
	if key != "" {
		r.header.Set("Idempotency-Key", key)
	}
	again, ok := items.(io.ReadSeeker)
	r.once = !ok
	r.body = func() (io.Reader, error) {
		if !ok {
			return items, nil
		}
		_, err := again.Seek(0, io.SeekStart)
		return io.NopCloser(again), err // the transport must not close it: it may be sent again
	}
	var out api.Appended
	r.out = &out
	err := c.call(ctx, r)
	return out, err
}

// Seal ends the adding of items. A nil ExpectedItems accepts any number.
func (c *Client) Seal(ctx context.Context, id string, s api.Seal) (api.BulkAction, error) {
	return get[api.BulkAction](ctx, c, "POST", route(bulkActions, id, "seal"), s)
}

// Start starts a sealed bulk action, or says when it starts.
func (c *Client) Start(ctx context.Context, id string, s api.Start) (api.BulkAction, error) {
	return get[api.BulkAction](ctx, c, "POST", route(bulkActions, id, "start"), s)
}

// Pause starts no more tasks; running ones finish.
func (c *Client) Pause(ctx context.Context, id, reason string) (api.BulkAction, error) {
	return c.verb(ctx, id, "pause", reason)
}

// Resume resumes a paused or stopped bulk action.
func (c *Client) Resume(ctx context.Context, id, reason string) (api.BulkAction, error) {
	return c.verb(ctx, id, "resume", reason)
}

// Cancel ends every item that is not running. While some are, it is api.Cancelling; Watch tells its end.
func (c *Client) Cancel(ctx context.Context, id, reason string) (api.BulkAction, error) {
	return c.verb(ctx, id, "cancel", reason)
}

// Approve runs the rest after the canary.
func (c *Client) Approve(ctx context.Context, id, reason string) (api.BulkAction, error) {
	return c.verb(ctx, id, "approve", reason)
}

// Unschedule takes back when a bulk action starts.
func (c *Client) Unschedule(ctx context.Context, id, reason string) (api.BulkAction, error) {
	return c.verb(ctx, id, "unschedule", reason)
}

func (c *Client) verb(ctx context.Context, id, verb, reason string) (api.BulkAction, error) {
	return get[api.BulkAction](ctx, c, "POST", route(bulkActions, id, verb), api.Verb{Reason: reason})
}

// Change changes what a bulk action may use, also while it runs.
func (c *Client) Change(ctx context.Context, id string, to api.Change) (api.BulkAction, error) {
	return get[api.BulkAction](ctx, c, "PATCH", route(bulkActions, id), to)
}

// ChangeBy changes what a bulk action may use, depending on what that is: how gets
// the bulk action as it is. If another caller changes its rules meanwhile, nothing is
// overwritten and how is asked again.
func (c *Client) ChangeBy(ctx context.Context, id string,
	how func(now *api.BulkAction) (api.Change, error)) (out api.BulkAction, err error) {
	for try := 1; ; try++ {
		var now api.BulkAction
		tag := ""
		if err := c.call(ctx, request{method: "GET", path: route(bulkActions, id), out: &now, tag: &tag}); err != nil {
			return out, err
		}
		to, err := how(&now)
		if err != nil {
			return out, err
		}
		h := http.Header{}
		if tag != "" {
			h.Set("If-Match", tag)
		}
		err = c.call(ctx, request{method: "PATCH", path: route(bulkActions, id), header: h, in: to, out: &out})
		if !IsCode(err, "changed_meanwhile") || try >= c.opts.Tries {
			return out, err
		}
	}
}

// Preview shows the first items and what the first step would be sent. A limit of 0 is the server's own.
func (c *Client) Preview(ctx context.Context, id string, limit int) (api.Preview, error) {
	return get[api.Preview](ctx, c, "GET", with(route(bulkActions, id, "preview"), "limit", positive(limit)), nil)
}

// Forecast says how a bulk action would go if it started.
func (c *Client) Forecast(ctx context.Context, id string, r api.ForecastRequest) (api.Forecast, error) {
	return get[api.Forecast](ctx, c, "POST", route(bulkActions, id, "forecast"), r)
}

// Trial sends a few items through before anything starts.
func (c *Client) Trial(ctx context.Context, id string, t api.Trial) (api.TrialResult, error) {
	return get[api.TrialResult](ctx, c, "POST", route(bulkActions, id, "trial"), t)
}

// Retry tries failed items again, as new, linked bulk actions.
func (c *Client) Retry(ctx context.Context, id string, a api.Again) (api.Linked, error) {
	return get[api.Linked](ctx, c, "POST", route(bulkActions, id, "retry"), a)
}

// Undo takes back what was done, as new, linked bulk actions.
func (c *Client) Undo(ctx context.Context, id, reason string) (api.Linked, error) {
	return get[api.Linked](ctx, c, "POST", route(bulkActions, id, "undo"), api.Verb{Reason: reason})
}

// Clone makes a draft like another bulk action, without its items.
func (c *Client) Clone(ctx context.Context, id, reason string) (api.BulkAction, error) {
	return c.verb(ctx, id, "clone", reason)
}

// Delete removes a draft. Others are cancelled, and removed when the time for which they are kept is over.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.Do(ctx, "DELETE", route(bulkActions, id), nil, nil)
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Timeline tells what happened to a bulk action as a whole, the newest first; a limit of 0 is the server's default.
func (c *Client) Timeline(ctx context.Context, id string, limit int) ([]api.Event, error) {
	out, err := get[api.Events](ctx, c, "GET", with(route(bulkActions, id, "timeline"), "limit", positive(limit)), nil)
	return out.Data, err
}
