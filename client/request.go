package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	mrand "math/rand/v2"
	"net/http"
	"time"

	"github.com/weirhq/weir/api"
)

// request is one call of the API.
type request struct {
	method, path string
	header       http.Header
	in           any // sent as JSON; nil: nothing, or body
	body         func() (io.Reader, error)
	kind         string // of body
	once         bool   // body can be read once only
	out          any
	tag          *string // takes the entity tag
}

// call makes a request and reads its answer.
func (c *Client) call(ctx context.Context, r request) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if r.tag != nil {
		*r.tag = resp.Header.Get("ETag")
	}
	if r.out == nil || resp.StatusCode == http.StatusNoContent {
		_, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxProblem)) // so that the connection can be used again
		return err
	}
	if err := r.read(resp.Body); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &UnreachableError{c.base.Redacted(), resp.StatusCode, fmt.Errorf("the answer cannot be read: %w", err)}
	}
	return nil
}

// read reads an answer into out.
func (r *request) read(body io.Reader) (err error) {
	if raw, ok := r.out.(*[]byte); ok {
		*raw, err = io.ReadAll(body)
		return err
	}
	return json.NewDecoder(body).Decode(r.out)
}

// send makes a request, again and again where that is safe, until there is an
// answer of success. The caller closes its body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	if err := r.encode(); err != nil {
		return nil, err
	}
	key := ""
	if r.method == http.MethodPost {
		key = keyFrom(ctx)
		if key == "" {
			key = r.header.Get("Idempotency-Key")
		}
		if key == "" {
			key = rand.Text()
		}
	}
	for try := 1; ; try++ {
		resp, err := c.try(ctx, r, key)
		if err == nil || ctx.Err() != nil {
			return resp, errors.Join(err, ctx.Err())
		}
		if try > 1 && r.method == http.MethodDelete && IsCode(err, "not_found") {
			return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil // a try before this one was heard
		}
		wait, again := c.again(try, &r, err)
		if !again {
			return nil, err
		}
		if e := sleep(ctx, wait); e != nil {
			return nil, errors.Join(e, err)
		}
	}
}

// encode turns what is sent as JSON into a body that can be read again.
func (r *request) encode() error {
	if r.in == nil {
		if r.body == nil && r.method == http.MethodPost {
			r.in = struct{}{}
		} else {
			return nil
		}
	}
	raw, ok := r.in.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(r.in); err != nil {
			return fmt.Errorf("client: %w", err)
		}
	}
	r.kind = "application/json"
	r.body = func() (io.Reader, error) { return bytes.NewReader(raw), nil }
	return nil
}

// try makes a request once.
func (c *Client) try(ctx context.Context, r request, key string) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		var err error
		if body, err = r.body(); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base.String()+r.path, body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", c.opts.UserAgent)
	if c.opts.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.Key)
	}
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	resp, err := c.opts.HTTP.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode/100 != 2 {
		return nil, c.refused(resp)
	}
	return resp, nil
}

// again says whether something is worth another try, and after how long. The
// body of a stream is gone after the first.
func (c *Client) again(try int, r *request, err error) (time.Duration, bool) {
	if try >= c.opts.Tries || r.once || !passing(err) {
		return 0, false
	}
	wait := backoff(try)
	if e, ok := errors.AsType[*RefusedError](err); ok && e.RetryAfter > 0 {
		wait = e.RetryAfter
	}
	return wait, wait <= c.opts.MaxWait
}

// passing reports whether an error may be gone the next time. A cut connection
// leaves open whether the server has done it; the key, or the method, sees to it
// that it is not done twice.
func passing(err error) bool {
	status := 0
	if e, ok := errors.AsType[*UnreachableError](err); ok {
		if e.Status == 0 {
			return true
		}
		status = e.Status
	}
	if p, ok := errors.AsType[*api.Problem](err); ok {
		if p.Code == "in_progress" {
			return true
		}
		status = p.Status
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// backoff grows from a tenth of a second, and is spread so that many clients do not come back at once.
func backoff(try int) time.Duration {
	most := 100 * time.Millisecond * time.Duration(math.Pow(2, float64(min(try, 8)-1)))
	return most/2 + time.Duration(mrand.Int64N(int64(most/2)+1))
}

// sleep waits, or returns early with ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
