package feed

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// request returns the request for the page at a place.
func (g *segment) request(ctx context.Context, at segmentPlace) (*http.Request, error) {
	u := *g.base
	if at.URL != "" {
		ref, err := url.ParseRequestURI(at.URL)
		if err != nil {
			return nil, permanent(CodeBadCursor, "this is not a cursor of this source", "begin again with an empty one", err)
		}
		u.Path, u.RawPath, u.RawQuery = ref.Path, ref.RawPath, ref.RawQuery
	}
	method, body := g.spec.Segment.Method, []byte(nil)
	if method == http.MethodPost {
		body = g.body(at)
	} else if at.URL == "" { // else the server gave the whole URL
		q := u.Query()
		q.Set(g.spec.Segment.LimitParam, strconv.Itoa(g.spec.PageSize))
		if at.Cursor != "" {
			q.Set(g.spec.Segment.CursorParam, at.Cursor)
		}
		u.RawQuery = q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, permanent(CodeRefused, "the request cannot be made", "", err)
	}
	g.head(req, body)
	return req, nil
}

// body returns the body of a POST: the members of the spec's body, page size and cursor.
func (g *segment) body(at segmentPlace) []byte {
	members := map[string]json.RawMessage{}
	if len(g.spec.Segment.Body) > 0 {
		if err := json.Unmarshal(g.spec.Segment.Body, &members); err != nil {
			panic("feed: a checked body: " + err.Error())
		}
	}
	members[g.spec.Segment.LimitParam] = json.RawMessage(strconv.Itoa(g.spec.PageSize))
	if at.Cursor != "" {
		members[g.spec.Segment.CursorParam] = toJSON(at.Cursor)
	}
	return toJSON(members)
}

func (g *segment) head(req *http.Request, body []byte) {
	req.Header.Set("Accept", "application/json, application/x-ndjson")
	req.Header.Set("User-Agent", "weir")
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, v := range g.conn.Headers {
		req.Header.Set(name, v.Reveal())
	}
	if reveal(g.conn.Token) != "" {
		req.Header.Set("Authorization", "Bearer "+reveal(g.conn.Token))
	}
	if g.signer != nil { // a new id each time: reading a page again does not repeat a message
		g.signer.Sign(req.Header, "page_"+rand.Text(), g.now(), body)
	}
}

// refused turns any status except 200 into an error.
func (g *segment) refused(resp *http.Response, body []byte) error {
	err := fmt.Errorf("%s answered %s", g.base.Host, resp.Status)
	if text := excerpt(bytes.TrimSpace(body)); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	switch s := resp.StatusCode; {
	case s == http.StatusTooManyRequests, s == http.StatusRequestTimeout, s == http.StatusTooEarly,
		s >= http.StatusInternalServerError:
		return &TransientError{Wait: retryAfter(resp.Header, g.now()), Err: err}
	case s == http.StatusNotFound, s == http.StatusGone:
		return permanent(CodeNotFound, "no such segment", "check the URL", err)
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return permanent(CodeRefused, "the segment may not be read", "check the secrets of the connection", err)
	case s >= 300 && s < 400:
		return permanent(CodeRefused, "the segment is elsewhere, and redirects are not followed", "use the URL that it leads to", err)
	default:
		return permanent(CodeRefused, "the request was refused", "check URL and parameters", err)
	}
}
