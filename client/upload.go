package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"

	"github.com/weirhq/weir/api"
)

// Upload says what is uploaded, and how. Size has to be set.
type Upload struct {
	// ID continues an existing upload. Default: a new one.
	ID string
	// Name is the name of the file; its extension tells the server the format. Default: none.
	Name string
	// Size is the size of the file in bytes.
	Size int64
	// Piece is the most bytes of a request. Default 8 MiB.
	Piece int64
	// Begun receives the id before the first byte is sent: a later process can continue with it.
	Begun func(id string)
	// Sent is told how many bytes have arrived, after each piece.
	Sent func(bytes int64)
}

const tusVersion = "1.0.0"

// Upload sends a file piece by piece, by the protocol tus 1.0, and returns the
// upload's id for [api.Source]. After a cut it asks how much has arrived, and continues from there.
func (c *Client) Upload(ctx context.Context, u Upload, file io.ReadSeeker) (id string, err error) {
	if u.Piece <= 0 {
		u.Piece = 8 << 20
	}
	at := int64(0)
	if u.ID == "" {
		u.ID, err = c.beginUpload(ctx, &u)
	} else {
		at, err = c.Uploaded(ctx, u.ID)
	}
	if err != nil {
		return u.ID, err
	}
	if u.Begun != nil {
		u.Begun(u.ID)
	}
	for failed := 0; at < u.Size; {
		next, err := c.sendPiece(ctx, &u, file, at)
		if err == nil {
			at, failed = next, 0
			if u.Sent != nil {
				u.Sent(at)
			}
			continue
		}
		failed++
		if failed >= c.opts.Tries || ctx.Err() != nil || !passing(err) && !moved(err) {
			return u.ID, err
		}
		if err := sleep(ctx, backoff(failed)); err != nil {
			return u.ID, err
		}
		if at, err = c.Uploaded(ctx, u.ID); err != nil {
			return u.ID, err
		}
	}
	return u.ID, nil
}

// moved reports whether the server has another idea of how much has arrived.
func moved(err error) bool {
	e, ok := errors.AsType[*UnreachableError](err)
	return ok && (e.Status == http.StatusConflict || e.Status == http.StatusLocked)
}

func (c *Client) beginUpload(ctx context.Context, u *Upload) (id string, err error) {
	h := http.Header{"Tus-Resumable": {tusVersion}, "Upload-Length": {strconv.FormatInt(u.Size, 10)}}
	if u.Size < 0 {
		h.Del("Upload-Length")
		h.Set("Upload-Defer-Length", "1")
	}
	if u.Name != "" {
		h.Set("Upload-Metadata", "filename "+base64.StdEncoding.EncodeToString([]byte(u.Name)))
	}
	none := func() (io.Reader, error) { return http.NoBody, nil }
	resp, err := c.send(ctx, request{method: "POST", path: "/v1/uploads", header: h, body: none})
	if err != nil {
		return "", err
	}
	_ = resp.Body.Close() // it has none
	if id = path.Base(resp.Header.Get("Location")); len(id) < 2 {
		return "", &UnreachableError{c.base.Redacted(), resp.StatusCode, errors.New("the answer does not say where the upload is")}
	}
	return id, nil
}

// Uploaded returns how many bytes of an upload have arrived.
func (c *Client) Uploaded(ctx context.Context, id string) (int64, error) {
	resp, err := c.send(ctx, request{method: "HEAD", path: upload(id), header: http.Header{"Tus-Resumable": {tusVersion}}})
	if err != nil {
		if e, ok := errors.AsType[*UnreachableError](err); ok &&
			(e.Status == http.StatusNotFound || e.Status == http.StatusGone) { // a HEAD has no body to tell it
			err = &RefusedError{Problem: &api.Problem{
				Title: "Not found", Status: e.Status, Code: "not_found",
				Detail: fmt.Sprintf("upload %q does not exist, or was removed", id), Fix: "begin again",
			}}
		}
		return 0, err
	}
	_ = resp.Body.Close() // it has none
	return offset(c, resp)
}

// DeleteUpload gives an upload up.
func (c *Client) DeleteUpload(ctx context.Context, id string) error {
	return c.call(ctx, request{method: "DELETE", path: upload(id), header: http.Header{"Tus-Resumable": {tusVersion}}})
}

func upload(id string) string { return "/v1/uploads/" + path.Base("/"+id) }

// sendPiece sends once what follows at, and returns how much has arrived then.
func (c *Client) sendPiece(ctx context.Context, u *Upload, file io.ReadSeeker, at int64) (int64, error) {
	if _, err := file.Seek(at, io.SeekStart); err != nil {
		return at, err
	}
	size := min(u.Piece, u.Size-at)
	r := request{
		method: "PATCH", path: upload(u.ID), kind: "application/offset+octet-stream",
		header: http.Header{"Tus-Resumable": {tusVersion}, "Upload-Offset": {strconv.FormatInt(at, 10)}},
		body:   func() (io.Reader, error) { return io.LimitReader(file, size), nil },
	}
	resp, err := c.try(ctx, r, "")
	if err != nil {
		return at, err
	}
	_ = resp.Body.Close() // it has none
	next, err := offset(c, resp)
	if err == nil && next <= at {
		err = fmt.Errorf("client: the file ended %d bytes before its size", u.Size-at)
	}
	return next, err
}

func offset(c *Client, resp *http.Response) (int64, error) {
	n, err := strconv.ParseInt(resp.Header.Get("Upload-Offset"), 10, 64)
	if err != nil {
		return 0, &UnreachableError{c.base.Redacted(), resp.StatusCode,
			errors.New("the answer does not say how much of the upload has arrived")}
	}
	return n, nil
}
