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
	// PageBytes is about the most that the documents of a page have together; the item
	// that reaches it is the last of its page.
	PageBytes = 8 << 20
	// MaxPageSize is the most items that one page may ask for.
	MaxPageSize = 10_000
	// DefaultPageSize is how many items a page asks for when nothing is said.
	DefaultPageSize = 1000
)

// Cursor is a place in a source. It is a JSON document that only the feed
// understands; the empty one is the beginning.
type Cursor string

// Page is what one read brought. A page may have no items and not be the last.
type Page struct {
	// Items are in the source's order. Their documents belong to the caller.
	Items []weir.RawItem
	// Next is where to go on. It is set on the last page, too.
	Next Cursor
	// Last says that nothing follows.
	Last bool
	// Skipped counts what is no item and was passed over: tombstones of a Kafka topic.
	Skipped int64
	// Bad counts items that cannot be used and were passed over, where [Spec.SkipBad] says so.
	Bad int64
}

// Feed reads items page by page. It is called from one goroutine. Reading the
// same cursor again gives the same items, as far as the source lets it.
type Feed interface {
	// Read brings the page that begins at from.
	Read(ctx context.Context, from Cursor) (Page, error)
	// Close frees connections. Cursors stay good.
	Close() error
}

// World is what feeds may touch. All of it has to be set.
type World struct {
	// Client sends the requests to segments, unless a connection brings certificates
	// of its own. Redirects are not followed, whatever it says.
	Client *http.Client
	// Dial opens all other connections. The address may hold a name.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Now is the clock, for signatures and for waits that are told as a date.
	Now func() time.Time
}

// Lookup finds the connection of that name. Open returns its error as it is.
type Lookup func(name string) (Connection, error)

// Open makes the feed that s describes. It checks s and the connection, and reaches out to nobody
// yet: what is wrong over there, the first Read tells.
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
