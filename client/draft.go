package client

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/weirhq/weir/api"
)

// Draft returns the description of a draft.
func (c *Client) Draft(ctx context.Context, id string) (api.NewBulkAction, error) {
	return get[api.NewBulkAction](ctx, c, "GET", route(bulkActions, id, "draft"), nil)
}

// Describe replaces the description of a draft that has no items.
func (c *Client) Describe(ctx context.Context, id string, n api.NewBulkAction) (api.NewBulkAction, error) {
	return get[api.NewBulkAction](ctx, c, "PUT", route(bulkActions, id, "draft"), n)
}

// ChangeDraft edits the description of a draft that has no items. If another caller changes it meanwhile, nothing is
// overwritten, and edit is called again with the newer one.
func (c *Client) ChangeDraft(ctx context.Context, id string, edit func(*api.NewBulkAction) error) (api.NewBulkAction, error) {
	return change(ctx, c, route(bulkActions, id, "draft"), edit)
}

// BadRows streams the bad rows of the upload of a draft, or of a bulk action that was made of one, as CSV. The caller
// closes it.
func (c *Client) BadRows(ctx context.Context, id string) (io.ReadCloser, error) {
	return c.stream(ctx, route(bulkActions, id, "bad-rows"), "*/*")
}

// Check reads the rows of a draft and tells which can be used, with up to so many bad ones. 0 is the server's own number.
func (c *Client) Check(ctx context.Context, id string, faults int) (api.DataCheck, error) {
	return get[api.DataCheck](ctx, c, "GET", with(route(bulkActions, id, "check"), "limit", positive(faults)), nil)
}

// CheckWith is [Client.Check] of the draft as if an upload were added to its uploads or, with replace, were its data.
func (c *Client) CheckWith(ctx context.Context, id, upload string, replace bool, faults int) (api.DataCheck, error) {
	how := "add"
	if replace {
		how = "replace"
	}
	return get[api.DataCheck](ctx, c, "GET", with(route(bulkActions, id, "check"), "limit", positive(faults), how, upload), nil)
}

// Repeated streams the rows of the upload of a draft, or of a bulk action that was made of one, whose id an earlier row has,
// as CSV. The caller closes it.
func (c *Client) Repeated(ctx context.Context, id string) (io.ReadCloser, error) {
	return c.stream(ctx, route(bulkActions, id, "duplicates"), "*/*")
}

// UploadStream sends a file of unknown size as one piece, and returns the upload's id for [api.Source] and its size. It
// is sent once: [Client.Upload] continues after a cut.
func (c *Client) UploadStream(ctx context.Context, name string, file io.Reader) (id string, size int64, err error) {
	id, err = c.beginUpload(ctx, &Upload{Name: name, Size: -1})
	if err != nil {
		return "", 0, err
	}
	if size, err = c.sendStream(ctx, id, file, nil); err == nil {
		_, err = c.sendStream(ctx, id, http.NoBody, &size)
	}
	if err != nil {
		_ = c.DeleteUpload(context.WithoutCancel(ctx), id) // otherwise it is removed after a week
		return "", 0, err
	}
	return id, size, nil
}

// sendStream sends what follows the end of an upload, and returns how much has arrived then. With an end, the upload is complete.
func (c *Client) sendStream(ctx context.Context, id string, file io.Reader, end *int64) (int64, error) {
	h := http.Header{"Tus-Resumable": {tusVersion}, "Upload-Offset": {"0"}}
	if end != nil {
		h.Set("Upload-Offset", strconv.FormatInt(*end, 10))
		h.Set("Upload-Length", strconv.FormatInt(*end, 10))
	}
	resp, err := c.try(ctx, request{method: "PATCH", path: upload(id), kind: "application/offset+octet-stream", header: h,
		body: func() (io.Reader, error) { return file, nil }}, "")
	if err != nil {
		return 0, err
	}
	_ = resp.Body.Close() // it has none
	return offset(c, resp)
}
