package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options configures [New]. Server has to be set.
type Options struct {
	// Server is the URL of the server, as in https://weir.example.com.
	Server string
	// Key is an API key, wk_…. Default: none is sent, for a server on loopback that asks for none.
	Key string
	// HTTP sends the requests. Default: a client of its own. A timeout of it bounds uploads and streams, too.
	HTTP *http.Client
	// UserAgent tells the server who asks. Default weir-go.
	UserAgent string
	// Tries is the maximum number of attempts of a request that can be repeated. Default 5; 1 never repeats.
	Tries int
	// MaxWait is the longest wait between two tries; a server that asks for a longer one is not asked again. Default 30s.
	MaxWait time.Duration
}

// Client speaks to one server.
type Client struct {
	opts Options
	base *url.URL
}

// New makes a client. Nothing is sent yet.
func New(o Options) (*Client, error) {
	u, err := url.Parse(strings.TrimRight(o.Server, "/"))
	switch {
	case o.Server == "":
		return nil, errors.New("client: the server's address is missing")
	case err != nil:
		return nil, errors.New("client: the server's address is not a URL; write it as in https://weir.example.com")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("client: %q is not an address of a server; write it as in https://weir.example.com", u.Redacted())
	case u.User != nil:
		return nil, errors.New("client: the server's address holds a user; give the API key as Key instead")
	case strings.ContainsAny(o.Key, "\r\n\x00 "):
		return nil, errors.New("client: the API key has a character in it that keys do not have")
	}
	o.UserAgent, o.Tries, o.MaxWait = cmp.Or(o.UserAgent, "weir-go"), cmp.Or(o.Tries, 5), cmp.Or(o.MaxWait, 30*time.Second)
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	return &Client{o, u}, nil
}

// Close closes connections that are not in use.
func (c *Client) Close() { c.opts.HTTP.CloseIdleConnections() }

// Server is the address of the server.
func (c *Client) Server() string { return c.base.String() }

// Do calls a route that has no method here. The path begins with a slash and may
// have a query; in is sent as JSON unless it is nil, and the answer's JSON is read into out unless that is nil.
// A *[]byte takes the answer as it is, JSON or not.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	return c.call(ctx, request{method: method, path: path, in: in, out: out})
}

type keyOf struct{}

// WithKey has the next POST carry this Idempotency-Key: repeating the whole call,
// even from another process, then does nothing twice. It is for one call: another one with the same key is refused.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOf{}, key)
}

func keyFrom(ctx context.Context) string {
	key, _ := ctx.Value(keyOf{}).(string)
	return key
}

// route builds a path; its parts are escaped.
func route(parts ...string) string {
	var b strings.Builder
	b.WriteString("/v1")
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}

// inQuery writes a time as a value of a query; the zero time is empty.
func inQuery(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// with adds a query; empty values are left out.
func with(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
