package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/edge/execute"
)

// maxEmpty bounds the number of consecutive pages without an item.
const maxEmpty = 1000

// segment reads a list behind a URL.
type segment struct {
	spec   Spec
	base   *url.URL
	conn   Connection
	signer *execute.Signer
	client *http.Client
	now    func() time.Time
}

// segmentPlace is the cursor of a segment: the last page's cursor, and enough to detect a
// circle.
type segmentPlace struct {
	Cursor string `json:"cursor,omitempty"`
	URL    string `json:"url,omitempty"` // instead of a cursor; the part behind the server's name
	Pages  int64  `json:"pages,omitempty"`
	Empty  int    `json:"empty,omitempty"` // consecutive pages without an item
	Done   bool   `json:"done,omitempty"`
	Trail  trail  `json:"trail,omitzero"`
}

func openSegment(s Spec, find Lookup, w World) (Feed, error) {
	g := &segment{spec: s, now: w.Now}
	if s.Segment.Connection != "" {
		var err error
		if g.conn, err = find.connection(s.Segment.Connection, "segment.connection", KindHTTP); err != nil {
			return nil, err
		}
	}
	in := &weir.InputError{}
	var err error
	if g.base, err = g.conn.locate(s.Segment.URL); err != nil {
		in.Add("bad_url", "segment.url", err.Error(), "use a URL on the connection's server")
	}
	if reveal(g.conn.Signing) != "" {
		if g.signer, err = execute.NewSigner(reveal(g.conn.Signing)); err != nil {
			in.Add("bad_connection", "segment.connection", "its signing secret cannot be used", "write whsec_ and 24 to 64 bytes in base64")
		}
	}
	if len(in.Fields) > 0 {
		return nil, in
	}
	g.client, err = w.client(g.conn)
	return g, err
}

// locate returns the absolute URL of ref. Secrets of a connection go only to its own server.
func (c Connection) locate(ref string) (*url.URL, error) {
	u, err := url.Parse(ref)
	if err != nil || c.Address == "" {
		return u, err
	}
	base, err := url.Parse(strings.TrimSuffix(c.Address, "/") + "/")
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the connection's address is not an http or https URL")
	}
	if u = base.ResolveReference(u); !sameServer(u, base) {
		return nil, fmt.Errorf("is on another server than the connection's, %s", base.Host)
	}
	return u, nil
}

func sameServer(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) && a.User == nil && a.Opaque == ""
}

// Close closes idle connections of the segment's own transport.
func (g *segment) Close() error {
	if g.conn.ownTLS() {
		g.client.CloseIdleConnections()
	}
	return nil
}

// Read requests one page.
func (g *segment) Read(ctx context.Context, from Cursor) (Page, error) {
	var at segmentPlace
	if err := from.decode(KindHTTP, &at); err != nil {
		return Page{}, err
	}
	if at.Done {
		return Page{Next: from, Last: true}, nil
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(g.spec.Timeout))
	defer cancel()
	req, err := g.request(limited, at)
	if err != nil {
		return Page{}, err
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return Page{}, unreachable(ctx, "ask "+g.base.Host, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, PageBytes+1))
	if resp.StatusCode != http.StatusOK {
		return Page{}, g.refused(resp, body)
	}
	if _, large := errors.AsType[*egress.TooLargeError](err); err != nil && !large {
		return Page{}, transient(ctx, "read the page of "+g.base.Host, err)
	} else if large || len(body) > PageBytes {
		return Page{}, at.where(permanent(CodePageTooLarge, fmt.Sprintf("the answer has more than %d bytes", PageBytes),
			"ask for smaller pages with page_size", nil))
	}
	return g.page(at, req.URL, resp.Header, body)
}

// page returns the page of an answer.
func (g *segment) page(at segmentPlace, from *url.URL, h http.Header, body []byte) (Page, error) {
	docs, next, bad := parseAnswer(h, body)
	if bad != nil {
		return Page{}, at.where(bad)
	}
	var p Page
	for i, doc := range docs {
		it, bad := item(doc, g.spec.ID)
		if bad != nil && g.spec.SkipBad {
			p.skip(bad, doc)
			continue
		}
		if bad != nil {
			bad.Where = fmt.Sprintf("item %d", i+1)
			return Page{}, at.where(bad)
		}
		p.Items = append(p.Items, it)
	}
	to, bad := at.follow(next, from, len(docs))
	if bad != nil {
		return Page{}, at.where(bad)
	}
	p.Next, p.Last = encode(KindHTTP, to), to.Done
	return p, nil
}

// where adds the page number to an error.
func (at segmentPlace) where(bad *PermanentError) *PermanentError {
	page := fmt.Sprintf("page %d", at.Pages+1)
	if bad.Where != "" {
		page += ", " + bad.Where
	}
	bad.Where = page
	return bad
}

// follow returns the place that an answer leads to.
func (at segmentPlace) follow(next nextPage, from *url.URL, items int) (segmentPlace, *PermanentError) {
	to := segmentPlace{Cursor: next.cursor, Pages: at.Pages + 1, Trail: at.Trail}
	if items == 0 {
		to.Empty = at.Empty + 1
	}
	if next.link != "" {
		u, err := from.Parse(next.link)
		if err != nil || !sameServer(u, from) {
			return to, permanent(CodeBadAnswer, "the next page is on another server: "+excerpt([]byte(next.link)),
				"answer with a URL of the same server", nil)
		}
		to.URL = u.RequestURI()
	}
	if to.Done = to.Cursor == "" && to.URL == ""; to.Done {
		return to, nil
	}
	if to.Empty >= maxEmpty {
		return to, permanent(CodeLoop, fmt.Sprintf("%d pages without an item came one after the other", maxEmpty),
			"answer without a next page at the end", nil)
	}
	same := to.Cursor == at.Cursor && to.URL == at.URL
	if circle := to.Trail.step(to.Cursor + "\x00" + to.URL); circle || same {
		return to, permanent(CodeLoop, "the next page is one that was read before",
			"answer with a new cursor on each page, and with none on the last", nil)
	}
	return to, nil
}

// trail detects a circle of any length in constant space, by Brent's method: it compares each
// place with an earlier one, which moves on after 1, 2, 4, 8 ... steps.
type trail struct {
	Before uint64 `json:"before"`
	Steps  int64  `json:"steps,omitempty"`
	Turn   int64  `json:"turn,omitempty"` // steps until Before moves
}

func (t *trail) step(place string) (circle bool) {
	h := xxh3.HashString(place)
	if h == t.Before && t.Turn > 0 {
		return true
	}
	if t.Steps++; t.Steps >= t.Turn {
		*t = trail{Before: h, Turn: max(1, 2*t.Turn)}
	}
	return false
}
