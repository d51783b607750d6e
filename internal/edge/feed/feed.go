package feed

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/weirhq/weir"
)

// Limits of a page.
const (
	// PageBytes is about the largest size of a page's documents; the item that reaches it is
	// the last of its page.
	PageBytes = 8 << 20
	// MaxPageSize is the largest number of items that a page may ask for.
	MaxPageSize = 10_000
	// DefaultPageSize is the default number of items that a page asks for.
	DefaultPageSize = 1000
)

// Cursor is a place in a source. It is a JSON document that only the feed understands; the
// empty cursor is the beginning.
type Cursor string

// Page is the result of one read. A page may have no items and not be the last.
type Page struct {
	// Items are in the source's order. Their documents belong to the caller.
	Items []weir.RawItem
	// Next is the place to continue. It is set on the last page, too.
	Next Cursor
	// Last reports that no page follows.
	Last bool
	// Skipped counts skipped records that are not items: tombstones of a Kafka topic.
	Skipped int64
	// Bad counts invalid items that were skipped, if [Spec.SkipBad] is set.
	Bad int64
	// Refused holds the first of them.
	Refused []Refused
}

// Refused is an invalid item that was skipped.
type Refused struct {
	Why *PermanentError
	// Doc is its document, nil if it has none or others are shown.
	Doc []byte
}

// Bounds on the invalid items that a page tells of, in all and with their documents.
const (
	mostRefused = 1000
	mostShown   = 20
)

// refuse adds an invalid item to a list.
func refuse(list []Refused, why *PermanentError, doc []byte) []Refused {
	if len(list) == mostRefused {
		return list
	}
	if len(list) >= mostShown {
		doc = nil
	}
	return append(list, Refused{why, doc})
}

// skip skips an invalid item.
func (p *Page) skip(why *PermanentError, doc []byte) {
	p.Bad++
	p.Refused = refuse(p.Refused, why, doc)
}

// Feed reads items page by page. It is called from one goroutine. Reading the same cursor again
// returns the same items, as far as the source allows.
type Feed interface {
	// Read returns the page that begins at from.
	Read(ctx context.Context, from Cursor) (Page, error)
	// Close releases connections. Cursors stay valid.
	Close() error
}

// World holds a feed's access to the outside. All fields must be set.
type World struct {
	// Client sends the requests to segments, unless a connection has its own certificates.
	// Redirects are never followed.
	Client *http.Client
	// Dial opens all other connections. The address may hold a name.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Now returns the time, for signatures and for waits given as a date.
	Now func() time.Time
}

// Lookup returns the connection of that name. Open returns its error unchanged.
type Lookup func(name string) (Connection, error)

// Open returns the feed that s describes. It checks s and the connection, but connects to
// nothing: the first Read reports errors of the server.
func Open(s Spec, find Lookup, w World) (Feed, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	s = s.withDefaults()
	switch {
	case s.Segment != nil:
		return openSegment(s, find, w)
	case s.Postgres != nil:
		return openPostgres(s, find, w)
	case s.Object != nil:
		return openObject(s, find, w)
	default:
		return openKafka(s, find, w)
	}
}

// Preview reads the first n items, or all if there are fewer.
func Preview(ctx context.Context, f Feed, n int) ([]weir.RawItem, error) {
	var items []weir.RawItem
	for from := Cursor(""); len(items) < n; {
		p, err := f.Read(ctx, from)
		if err != nil {
			return nil, err
		}
		items = append(items, p.Items...)
		if p.Last {
			break
		}
		from = p.Next
	}
	return items[:min(n, len(items))], nil
}
