//go:build unix

package serverkill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// request is one that a client makes, and makes again until it is answered.
type request struct {
	method, path string
	kind         string // of the body
	key          string // Idempotency-Key
	header       map[string]string
	body         string
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// problem returns the code of an error answer.
func (r reply) problem() string {
	var p api.Problem
	_ = json.Unmarshal(r.body, &p) // other answers have none
	return p.Code
}

// once makes a request a single time.
func (w *world) once(ctx context.Context, q request, body io.Reader) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, q.method, *w.url.Load()+q.path, body)
	if err != nil {
		return reply{}, err
	}
	if q.kind != "" {
		req.Header.Set("Content-Type", q.kind)
	}
	if q.key != "" {
		req.Header.Set("Idempotency-Key", q.key)
	}
	for k, v := range q.header {
		req.Header.Set(k, v)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, raw}, err
}

// ask makes a request until there is an answer that says more than "ask again".
func (w *world) ask(ctx context.Context, q request) (reply, error) {
	for {
		r, err := w.once(ctx, q, strings.NewReader(q.body))
		if err == nil && r.status < 500 && r.status != http.StatusTooManyRequests && r.problem() != "in_progress" {
			return r, nil
		}
		select {
		case <-ctx.Done():
			return r, fmt.Errorf("%s %s: %w; last: %d %s %w", q.method, q.path, ctx.Err(), r.status, r.body, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// want asks, and fails unless the answer has the status. What is answered goes to out.
func (w *world) want(ctx context.Context, q request, status int, out any) error {
	r, err := w.ask(ctx, q)
	if err != nil {
		return err
	}
	if r.status != status {
		return fmt.Errorf("%s %s (key %q): status %d, want %d: %s", q.method, q.path, q.key, r.status, status, r.body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(r.body, out)
}

// get asks for something.
func (w *world) get(ctx context.Context, path string, out any) error {
	return w.want(ctx, request{method: http.MethodGet, path: path}, http.StatusOK, out)
}

// post asks for something to be done, once.
func (w *world) post(ctx context.Context, path, key, body string, status int, out any) error {
	return w.want(ctx, request{method: http.MethodPost, path: path, key: key, kind: "application/json", body: body}, status, out)
}

// errCut ends a body half-way.
var errCut = errors.New("the client is cut off")

// cutBody gives half of a body, and then breaks the connection.
type cutBody struct{ left *bytes.Reader }

// Read implements io.Reader.
func (c *cutBody) Read(p []byte) (int, error) {
	n, err := c.left.Read(p)
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	return n, err
}
