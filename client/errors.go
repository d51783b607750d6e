package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// RefusedError reports a request that the server refused.
type RefusedError struct {
	// Problem says what, why and what to do; errors.As finds it.
	Problem *api.Problem
	// RetryAfter is the delay before a retry, if the server sent one.
	RetryAfter time.Duration
}

// Error is the problem in words.
func (e *RefusedError) Error() string { return e.Problem.Error() }

// Unwrap gives the problem.
func (e *RefusedError) Unwrap() error { return e.Problem }

// UnreachableError is a server that cannot be asked: no connection, or an answer
// that no weir server gives. Whether it has done what it was asked to is not known.
type UnreachableError struct {
	// Server is its address.
	Server string
	// Status is the status of the last response; 0 if there was no response.
	Status int
	Err    error
}

// Error says who does not answer, and why.
func (e *UnreachableError) Error() string { return e.Server + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// IsCode reports whether err is a problem with this code.
func IsCode(err error, code string) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Code == code
}

// unreachable says what a failed exchange means. The URL in Go's own error would say it twice.
func (c *Client) unreachable(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &UnreachableError{Server: c.base.Redacted(), Err: err}
}

// maxProblem limits how much of an error response is read.
const maxProblem = 1 << 20

// refused turns a response without success into an error, and closes it.
func (c *Client) refused(resp *http.Response) error {
	defer resp.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem)) // what came is told
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	p := &api.Problem{}
	if kind == "application/problem+json" && json.Unmarshal(raw, p) == nil && p.Code != "" {
		return &RefusedError{p, retryAfter(resp.Header)}
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(raw[:min(len(raw), 200)]), "?"))
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	if strings.Contains(kind, "html") || text == "" {
		text = "the answer is not weir's"
	}
	return &UnreachableError{c.base.Redacted(), resp.StatusCode, fmt.Errorf("answered %s: %s", resp.Status, text)}
}

// retryAfter reads the header in both of its forms.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
