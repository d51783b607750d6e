package execute

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
)

// HTTPOptions configures [HTTP]. The zero value works.
type HTTPOptions struct {
	// Transport makes the calls. Default: a [NewTransport] of the step's own;
	// pass one to all steps to share connections and to close them at the end.
	Transport http.RoundTripper
	// Memory bounds the memory of answers, over all steps that share it. Default: one of the
	// step's own.
	Memory *Memory
	// Counters receives the counts. Default: not counted.
	Counters *Counters
	// Now returns the time for signatures and for comparing dates. Default [time.Now].
	Now func() time.Time
}

// Counters holds counts over all calls of the steps that share it.
type Counters struct {
	Calls      atomic.Int64 // requests sent
	UnknownIDs atomic.Int64 // results for items that were not sent; they are ignored
	MissingIDs atomic.Int64 // items without a result; they are retried as "no_result"
}

// caller calls one endpoint.
type caller struct {
	transport http.RoundTripper
	memory    *Memory
	counters  *Counters
	now       func() time.Time
	template  *http.Request
	signer    *Signer // nil: unsigned
	input     func(*weir.TaskItem) ([]byte, error)
	timeout   time.Duration
	answers   sync.Pool // of *bytes.Buffer
}

// HTTP returns a handler for a step that has an endpoint. Invalid settings are returned as a
// [*weir.FieldError] with field "url", "secret" or "header.…".
func HTTP(step weir.Step, o HTTPOptions) (weir.Handler, error) {
	if step.Endpoint == nil {
		return nil, &weir.FieldError{
			Code: "no_endpoint", Field: "url",
			Problem: "step " + step.Name + " has no endpoint", Fix: "give its action a URL",
		}
	}
	u, _, bad := ParseURL(step.Endpoint.URL)
	if bad != nil {
		return nil, bad
	}
	head, err := header(step.Endpoint.Header)
	if err != nil {
		return nil, err
	}
	c := &caller{
		transport: o.Transport, memory: o.Memory, counters: o.Counters, now: o.Now, input: step.Input, timeout: step.Timeout,
		template: &http.Request{
			Method: http.MethodPost, URL: u, Host: u.Host, Header: head,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		},
	}
	if step.Endpoint.Secret != "" {
		if c.signer, err = NewSigner(step.Endpoint.Secret); err != nil {
			return nil, err
		}
	}
	c.setDefaults()
	return c.handle, nil
}

func (c *caller) setDefaults() {
	if c.transport == nil {
		c.transport = NewTransport()
	}
	if c.memory == nil {
		c.memory = NewMemory()
	}
	if c.counters == nil {
		c.counters = &Counters{}
	}
	if c.now == nil {
		c.now = time.Now
	}
}

// handle is the step's [weir.Handler].
func (c *caller) handle(ctx context.Context, t *weir.Task) error {
	if _, set := ctx.Deadline(); !set && c.timeout > 0 && t.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	req := newRequest(ctx, t, c.input)
	if len(req.sent) == 0 {
		return nil
	}
	err := c.call(ctx, t, req)
	if err != nil {
		clear(t.Outcomes) // nothing was done
	}
	return err
}

func (c *caller) call(ctx context.Context, t *weir.Task, req *request) error {
	c.counters.Calls.Add(1)
	resp, err := c.transport.RoundTrip(c.request(ctx, req))
	if err != nil {
		return c.callFailed(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 || resp.StatusCode == http.StatusNoContent {
		return c.refusal(resp, t, req)
	}
	return c.answer(ctx, resp, t, req)
}

func (c *caller) request(ctx context.Context, req *request) *http.Request {
	hr := c.template.WithContext(ctx)
	hr.Header = maps.Clone(c.template.Header)
	if at := weir.TraceOf(ctx).String(); at != "" {
		hr.Header[HeaderTraceparent] = []string{at}
	}
	hr.ContentLength = int64(len(req.body))
	hr.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(req.body)), nil }
	hr.Body, _ = hr.GetBody()
	if c.signer != nil {
		c.signer.Sign(hr.Header, req.id, c.now(), req.body)
	}
	return hr
}

// HeaderTraceparent is the header of W3C Trace Context.
const HeaderTraceparent = "Traceparent"

// callFailed returns the error of a call without an answer. The context's cause takes
// precedence: the connection's error is then only a consequence.
func (c *caller) callFailed(ctx context.Context, err error) *CallError {
	var (
		dial    *net.OpError
		timeout net.Error
	)
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return &CallError{Code: CodeTimeout, Err: noAnswer(c.timeout)}
	case cause != nil:
		return &CallError{Code: CodeCancelled, Err: cause}
	case errors.As(err, &dial) && dial.Op == "dial":
		return &CallError{Code: CodeUnreachable, Err: err}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &CallError{Code: CodeTimeout, Err: err}
	}
	return &CallError{Code: CodeUnreachable, Err: err}
}

// noAnswer is the error of a call that did not end within its timeout.
type noAnswer time.Duration

// Error states how long the call waited.
func (n noAnswer) Error() string {
	if n <= 0 {
		return "no answer in time"
	}
	return "no answer within " + time.Duration(n).String()
}

// Is reports that the deadline was exceeded.
func (n noAnswer) Is(target error) bool { return target == context.DeadlineExceeded }

// shownURL returns a URL for messages, without the query, which may hold a token.
func shownURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
