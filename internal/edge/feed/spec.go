package feed

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/source"
)

// Spec describes a source, as in the API. Exactly one of the four is set.
type Spec struct {
	Segment  *Segment  `json:"segment,omitempty"`
	Postgres *Postgres `json:"postgres,omitempty"`
	Object   *Object   `json:"object,omitempty"`
	Kafka    *Kafka    `json:"kafka,omitempty"`

	// ID names the member or column that holds the item's id. Default: "id" for a segment and a
	// topic, the key for a query; for an object it is detected as for an upload.
	ID string `json:"id,omitempty"`
	// SkipBad skips invalid items and counts them. Default: the first one ends the reading.
	SkipBad bool `json:"-"`
	// PageSize is the number of items that a page asks for. Default 1000, at most 10,000.
	PageSize int `json:"page_size,omitempty"`
	// Timeout bounds the time of one page. Default 30s, at most 10m.
	Timeout api.Duration `json:"timeout,omitempty"`
}

// Segment is a list behind a URL that is read page by page. The server answers JSON, {"items":
// [...], "next_cursor": "..."}, or NDJSON. "data" may replace "items", and "next", a URL of the
// same server, the cursor; the headers Link with rel="next" and Next-Cursor work as well. A
// page without any of them is the last.
type Segment struct {
	// Connection names a connection of kind http, whose headers and secrets are sent. Optional.
	Connection string `json:"connection,omitempty"`
	// URL is absolute, or relative to the connection's address. It must stay on the
	// connection's server.
	URL string `json:"url"`
	// Method is GET, with page size and cursor in the query, or POST, with both in a JSON body. Default GET.
	Method string `json:"method,omitempty"`
	// Body is a JSON object whose members are added to the body of a POST.
	Body json.RawMessage `json:"body,omitempty"`
	// LimitParam and CursorParam name the parameters. Defaults "limit" and "cursor".
	LimitParam  string `json:"limit_param,omitempty"`
	CursorParam string `json:"cursor_param,omitempty"`
}

// Postgres is a query whose rows become items: a JSON object with a member per column. Numbers are exact, times as
// in RFC 3339 (without a zone where the column has none), bytea is base64, json is as it is. It takes PostgreSQL 13 or later.
type Postgres struct {
	// Connection names a connection of kind postgres. Its user should be one that can only
	// read: the query runs in a read-only transaction, which functions of a superuser can leave.
	Connection string `json:"connection"`
	// Query is one SELECT without parameters.
	Query string `json:"query"`
	// Key names a column of the result that orders it and is never NULL. Pages follow its
	// order, so an index on it makes them cheap.
	Key string `json:"key"`
}

// Object is a file in S3-compatible storage: CSV, NDJSON or JSON, optionally compressed with
// gzip or zstd.
type Object struct {
	// Connection names a connection of kind s3.
	Connection string `json:"connection"`
	Bucket     string `json:"bucket"`
	Key        string `json:"key"`
	// Format, Delimiter, Encoding and Columns override what is detected from name and content.
	Format    source.Format `json:"format,omitempty"`
	Delimiter string        `json:"delimiter,omitempty"`
	Encoding  string        `json:"encoding,omitempty"`
	Columns   []string      `json:"columns,omitempty"`
}

// Kafka is a topic whose records have JSON objects as values. It is read up to the end that it
// had at the first read. Compaction may remove records at that very end, so that the end cannot
// be detected: reading then runs into its timeout rather than guess.
type Kafka struct {
	// Connection names a connection of kind kafka.
	Connection string `json:"connection"`
	Topic      string `json:"topic"`
	// Since starts at the first record of that time or later. Default: the oldest.
	Since *time.Time `json:"since,omitempty"`
	// Offsets holds the start of partitions, instead of Since or the oldest.
	Offsets map[int32]int64 `json:"offsets,omitempty"`
	// IDFromKey uses the record's key as the item's id, instead of a member of its value.
	IDFromKey bool `json:"id_from_key,omitempty"`
}

const (
	defaultTimeout = api.Duration(30 * time.Second)
	maxTimeout     = api.Duration(10 * time.Minute)
)

func (s *Spec) withDefaults() Spec {
	d := *s
	d.PageSize = cmp.Or(s.PageSize, DefaultPageSize)
	d.Timeout = cmp.Or(s.Timeout, defaultTimeout)
	switch {
	case s.Segment != nil:
		g := *s.Segment
		g.Method = cmp.Or(g.Method, http.MethodGet)
		g.LimitParam = cmp.Or(g.LimitParam, "limit")
		g.CursorParam = cmp.Or(g.CursorParam, "cursor")
		d.Segment, d.ID = &g, cmp.Or(s.ID, "id")
	case s.Postgres != nil:
		d.ID = cmp.Or(s.ID, s.Postgres.Key)
	case s.Kafka != nil:
		d.ID = cmp.Or(s.ID, "id")
	}
	return d
}
