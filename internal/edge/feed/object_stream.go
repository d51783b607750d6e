package feed

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/source"
)

// maxHead bounds the bytes before the first item that a cursor carries. With more, reading
// starts again from the beginning.
const maxHead = 16 << 10

// objectStream is one download, from a place on.
type objectStream struct {
	ctx    context.Context // ends with the stream, or with a read that is given up
	cancel context.CancelFunc
	alive  func() // reports progress

	at    objectPlace   // of ahead
	ahead *weir.RawItem // the next item; nil behind the last
	rows  *source.Reader
	marks *marks
	wire  wire
	shift int // from a line of rows to a line of the object

	skipBad bool
	bad     int64     // rows that were skipped before ahead, and are in no page yet
	refused []Refused // the first of them
}

func newObjectStream(ctx context.Context, at objectPlace, skipBad bool) *objectStream {
	s := &objectStream{at: at, skipBad: skipBad}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx)) // outlives the read that opens it
	return s
}

// watch ends the stream when ctx ends or nothing moves for that long, until done is called.
func (s *objectStream) watch(ctx context.Context, most time.Duration) (done func()) {
	stop := context.AfterFunc(ctx, s.cancel)
	timer := time.AfterFunc(most, s.cancel)
	s.alive = func() { timer.Reset(most) }
	return func() { stop(); timer.Stop() }
}

func (s *objectStream) close() {
	s.cancel()
	if s.rows != nil {
		_ = s.rows.Close() // only read from
	}
	if s.wire.body != nil {
		_ = s.wire.body.Close()
	}
}

// open starts the download and goes to the first item.
func (s *objectStream) open(f *object) error {
	if err := s.get(f); err != nil {
		return err
	}
	begin := s.at
	s.marks = &marks{r: io.MultiReader(bytes.NewReader(begin.Head), &s.wire), starts: []int64{0}, first: 1}
	s.marks.shift = begin.Offset - int64(len(begin.Head))
	rows, err := source.Open(s.marks, f.spec.Object.Key, f.options(begin))
	if err != nil {
		return err
	}
	s.rows = rows
	if begin.Line == 0 {
		return s.begin(begin.Items)
	}
	s.shift = begin.Line - 1 - bytes.Count(begin.Head, []byte("\n"))
	err = s.read()
	s.bad, s.refused = 0, nil // those in the head were counted when it was first read
	return err
}

// get requests the object, or the rest of it, and checks that it is the same version as before.
func (s *objectStream) get(f *object) error {
	opts := minio.GetObjectOptions{}
	opts.Set("Accept-Encoding", "identity")
	if s.at.ETag != "" {
		if err := opts.SetMatchETag(s.at.ETag); err != nil {
			return err
		}
	}
	if s.at.Offset > 0 {
		if err := opts.SetRange(s.at.Offset, 0); err != nil {
			return err
		}
	}
	body, info, head, err := f.store.GetObject(s.ctx, f.spec.Object.Bucket, f.spec.Object.Key, opts)
	if err != nil {
		return err
	}
	s.wire.body = body
	if s.at.ETag != "" && info.ETag != s.at.ETag { // not every server obeys If-Match
		return changed()
	}
	if info.ETag == "" {
		return permanent(CodeBadAnswer, "the server names no ETag, so a change of the object would not be noticed",
			"use a server that does", nil)
	}
	s.at.ETag = info.ETag
	if s.at.Offset > 0 && head.Get("Content-Range") == "" {
		_, err = io.CopyN(io.Discard, &s.wire, s.at.Offset)
	}
	return err
}

// options returns those of the spec, or those that the first stream detected.
func (f *object) options(at objectPlace) source.Options {
	o := source.Options{
		Format: f.spec.Object.Format, Encoding: f.spec.Object.Encoding, IDColumn: f.spec.ID, Columns: f.spec.Object.Columns,
	}
	for _, d := range f.spec.Object.Delimiter {
		o.Delimiter = d
	}
	if at.ETag != "" && at.Format != "" {
		o.Format, o.Encoding, o.Delimiter = at.Format, at.Encoding, at.Delimiter
		if at.ID != "" {
			o.IDColumn = at.ID
		}
	}
	return o
}

// begin records the properties of the object, and skips items that were read before.
func (s *objectStream) begin(skip int64) error {
	d := s.rows.Detected()
	s.at.Format, s.at.Encoding, s.at.Delimiter, s.at.ID = d.Format, d.Encoding, d.Delimiter, d.IDColumn
	inLines := d.Compression == "" && d.Format != source.JSON && !strings.HasPrefix(d.Encoding, "utf-16")
	if !inLines {
		s.marks.off, s.marks.zero = true, false
	}
	s.at.Items = 0
	line, err := s.item()
	if err != nil {
		return err
	}
	if from := s.marks.at(line); inLines && s.ahead != nil && skip == 0 && from <= maxHead {
		s.at.Head = bytes.Clone(s.marks.head[:from])
		s.at.Line, s.at.Offset = line, from
		return nil
	}
	s.marks.off = true
	for s.at.Items < skip && s.ahead != nil {
		if err := s.next(); err != nil {
			return err
		}
		s.alive()
	}
	if skip > 0 {
		s.bad, s.refused = 0, nil // they were counted when they were first read
	}
	return nil
}

// next advances to the item behind ahead.
func (s *objectStream) next() error {
	s.at.Items++
	return s.read()
}

// read reads the next item of rows into ahead, and records where it begins.
func (s *objectStream) read() error {
	line, err := s.item()
	if err == nil && s.ahead != nil && s.at.Line > 0 {
		s.at.Line = line + s.shift
		s.at.Offset = s.marks.at(line) + s.marks.shift
	}
	return err
}

// item reads the next item of rows into ahead; line is as rows counts.
func (s *objectStream) item() (line int, err error) {
	s.ahead = nil
	for it, err := range s.rows.Items() {
		if s.marks.zero {
			return 0, permanent(source.CodeNotText, "there are zero bytes in the text", "save it as UTF-8", nil)
		}
		if bad, ok := err.(*source.RowError); ok { //nolint:errorlint // Items yields it unwrapped, and its line is changed here
			bad.Line += s.shift
		}
		if s.passes(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		s.ahead = &weir.RawItem{ID: it.ID, Value: bytes.Clone(it.Data)}
		return it.Line, nil
	}
	s.at.Done = true
	return 0, nil
}

// passes reports whether an invalid row is skipped, and counts it. A partial row of a broken
// download is not skipped.
func (s *objectStream) passes(err error) bool {
	var row *source.RowError
	var bad *PermanentError
	if !s.skipBad || s.wire.err != nil || !errors.As(err, &row) && !errors.As(err, &bad) {
		return false
	}
	s.bad++
	if row != nil {
		bad = refusedRow(row)
	}
	s.refused = refuse(s.refused, bad, nil)
	s.alive()
	return true
}
