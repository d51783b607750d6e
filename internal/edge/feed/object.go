package feed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/source"
)

// object reads a file in S3-compatible storage. The stream stays open from one read to the next.
type object struct {
	spec      Spec
	store     minio.Core
	transport *http.Transport
	stream    *objectStream // nil when nothing is open
	at        Cursor        // where stream stands
}

// objectPlace is the cursor of an object: its version, its detected format, and where the next
// item begins.
type objectPlace struct {
	ETag  string `json:"etag,omitempty"`
	Items int64  `json:"items,omitempty"` // read so far
	Done  bool   `json:"done,omitempty"`

	Format    source.Format `json:"format,omitempty"`
	Encoding  string        `json:"encoding,omitempty"`
	Delimiter rune          `json:"delimiter,omitempty"`
	ID        string        `json:"id,omitempty"`

	// Only for text in lines; otherwise Line is 0 and the first Items items are read again and
	// skipped.
	Line   int    `json:"line,omitempty"` // of the next item, from 1
	Offset int64  `json:"offset,omitempty"`
	Head   []byte `json:"head,omitempty"` // the text before the first item, such as the column names
}

func openObject(s Spec, find Lookup, w World) (Feed, error) {
	c, err := find.connection(s.Object.Connection, "object.connection", KindS3)
	if err != nil {
		return nil, err
	}
	f := &object{spec: s}
	if f.transport, err = w.transport(c); err != nil {
		return nil, err
	}
	u, err := url.Parse(c.Address)
	if err == nil {
		f.store.Client, err = minio.New(u.Host, &minio.Options{
			Creds:  credentials.NewStaticV4(c.User, reveal(c.Password), reveal(c.Token)),
			Secure: u.Scheme != "http", Region: c.Region, Transport: f.transport,
			MaxRetries: 1, // the caller retries, and knows how often
		})
	}
	if err != nil {
		in := &weir.InputError{}
		in.Add("bad_connection", "object.connection", "its address is not the URL of a server",
			"write it as https://host:port, without a path")
		return nil, in
	}
	return f, nil
}

// Close ends the download, if one is under way.
func (f *object) Close() error {
	f.drop()
	f.transport.CloseIdleConnections()
	return nil
}

func (f *object) drop() {
	if f.stream != nil {
		f.stream.close()
	}
	f.stream = nil
}

// Read continues with the open stream, or opens one at the cursor.
func (f *object) Read(ctx context.Context, from Cursor) (Page, error) {
	var at objectPlace
	if err := from.decode(KindS3, &at); err != nil {
		return Page{}, err
	}
	if at.Done {
		return Page{Next: from, Last: true}, nil
	}
	if f.stream == nil || f.at != from {
		f.drop()
		f.stream = newObjectStream(ctx, at, f.spec.SkipBad)
	}
	done := f.stream.watch(ctx, time.Duration(f.spec.Timeout))
	p, err := f.page(f.stream)
	done()
	if err != nil {
		err = f.explain(ctx, f.stream, err)
	}
	if err != nil || p.Last {
		f.drop()
	}
	f.at = p.Next
	return p, err
}

// page takes items from the stream until the page is full. It also reads the item behind the
// page, since that is where to continue.
func (f *object) page(s *objectStream) (Page, error) {
	if s.rows == nil {
		if err := s.open(f); err != nil {
			return Page{}, err
		}
	}
	var p Page
	for size := 0; s.ahead != nil && len(p.Items) < f.spec.PageSize && size < PageBytes; size += len(p.Items[len(p.Items)-1].Value) {
		p.Items = append(p.Items, *s.ahead)
		if err := s.next(); err != nil {
			return Page{}, err
		}
	}
	p.Next, p.Last, p.Bad, p.Refused = encode(KindS3, s.at), s.at.Done, s.bad, s.refused
	s.bad, s.refused = 0, nil
	return p, nil
}

// explain turns any error into a permanent or a transient one. If the download broke, that is
// the cause, and an error of its partial row only a consequence.
func (f *object) explain(ctx context.Context, s *objectStream, err error) error {
	if s.wire.err != nil {
		return transient(ctx, "read the object", s.wire.err)
	}
	if bad, ok := errors.AsType[*source.RowError](err); ok {
		return refusedRow(bad)
	}
	if bad, ok := errors.AsType[*source.InputError](err); ok {
		return &PermanentError{Code: bad.Code, Where: line(bad.Line, bad.Column), Problem: bad.Problem, Fix: bad.Fix, Err: bad.Err}
	}
	if e, ok := errors.AsType[minio.ErrorResponse](err); ok && e.StatusCode > 0 {
		return f.refused(e)
	}
	return unreachable(ctx, "read the object", err)
}

// refusedRow returns the error of a row.
func refusedRow(bad *source.RowError) *PermanentError {
	return &PermanentError{Code: bad.Code, Where: line(bad.Line, bad.Column), Problem: bad.Problem, Fix: bad.Fix}
}

func line(line, column int) string {
	switch {
	case line == 0:
		return ""
	case column == 0:
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("line %d, column %d", line, column)
}

func (f *object) refused(e minio.ErrorResponse) error {
	switch s := e.StatusCode; {
	case s == http.StatusTooManyRequests, s == http.StatusRequestTimeout, s >= http.StatusInternalServerError:
		return &TransientError{Err: e}
	case s == http.StatusPreconditionFailed, s == http.StatusRequestedRangeNotSatisfiable:
		return changed()
	case s == http.StatusNotFound:
		return permanent(CodeNotFound, "no such object", "check bucket and key", e)
	default:
		return permanent(CodeRefused, "the object may not be read", "check the connection, bucket and key", e)
	}
}

func changed() *PermanentError {
	return permanent(CodeChanged, "the object was replaced after reading began",
		"keep the object until it is read, or start again", nil)
}
