package draft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/internal/service/upload"
)

// files holds what drafts keep besides their records: uploads and staged items.
type files struct {
	*kept
	uploads *upload.Uploads // for the service itself
}

// checkUpload checks that an API key may have an upload read for a tenant. The field of the request names it.
func (s *files) checkUpload(ctx context.Context, field, id, tenant, by string) error {
	f, err := s.uploads.Get(ctx, id)
	switch {
	case err != nil || !f.For(tenant, by):
		return unknownUpload(field, id)
	case !f.Done():
		return &weir.FieldError{Code: "upload_incomplete", Field: field,
			Problem: fmt.Sprintf("%d of %d bytes of %s have arrived", f.Offset, f.Size, id), Fix: "send the rest first"}
	}
	return nil
}

// uploadField returns the field of the API that names an upload of a source, by its number from 1.
func uploadField(no int) string {
	if no <= 1 {
		return "source.upload"
	}
	return fmt.Sprintf("source.added[%d]", no-2)
}

func unknownUpload(field, id string) error {
	return &weir.FieldError{Code: "unknown_upload", Field: field,
		Problem: fmt.Sprintf("unknown upload %q, or its items were already imported", id), Fix: "begin one with POST /v1/uploads"}
}

// layoutOf returns how the first upload of a draft is written, nil if it is no table. What is wrong with an upload shows when
// its rows are read.
func (s *files) layoutOf(ctx context.Context, d *Draft) *stored.Layout {
	if len(d.Spec.Source.Uploads()) == 0 {
		return nil
	}
	f, err := s.uploads.Get(ctx, d.Spec.Source.Upload)
	if err != nil {
		return nil
	}
	r, err := s.uploads.Reader(ctx, d.Spec.Source.Upload)
	if err != nil {
		return nil
	}
	rd, err := source.Open(r, f.Meta["filename"], source.Options{AnyID: true})
	if err != nil {
		return nil
	}
	defer rd.Close()
	found := rd.Detected()
	if found.Format != source.CSV {
		return nil
	}
	return &stored.Layout{Delimiter: string(found.Delimiter), BOM: found.Marked || found.Encoding != "utf-8"}
}

// useUpload keeps the uploads that a source names, if any, for a draft.
func (s *files) useUpload(ctx context.Context, id string, from *stored.Source) error {
	for i, file := range from.Uploads() {
		err := s.uploads.Use(ctx, file, id)
		switch {
		case errors.Is(err, weir.ErrNotFound): // removed in the meantime
			return unknownUpload(uploadField(i+1), file)
		case errors.Is(err, upload.ErrTooManyUses):
			return &check.Refusal{Code: "wrong_state", Detail: err.Error(), Fix: "start or delete one of them first"}
		case err != nil:
			return err
		}
	}
	return nil
}

// releaseUpload removes the uploads of a draft that does not need them any more, unless other drafts do, or the bulk action
// made of it has left out rows to list.
func (s *files) releaseUpload(ctx context.Context, id string) error {
	d, err := s.Get(ctx, id)
	if err != nil {
		return records.IgnoreGone(err)
	}
	for _, file := range d.Spec.Source.Uploads() {
		if listed, err := s.listsRows(ctx, file, id); listed || err != nil {
			return err
		}
		if err := s.uploads.Release(ctx, file, id); err != nil {
			return err
		}
	}
	return nil
}

// waitsFor reports whether a draft still has to read an upload, or a bulk action has left out rows of it.
func (s *files) waitsFor(ctx context.Context, file, id string) (bool, error) {
	d, err := s.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) {
		return s.listsRows(ctx, file, id)
	}
	return err == nil && slices.Contains(d.Spec.Source.Uploads(), file), err
}

// listsRows reports whether a bulk action that is kept left out rows of its uploads, of which this is one.
func (s *files) listsRows(ctx context.Context, file, id string) (bool, error) {
	b, err := s.engine.Get(ctx, weir.BulkID(id))
	if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	x, err := stored.ParseExtra(b.Info().Extra)
	return err == nil && x.BadLines+b.Duplicates() > 0 && slices.Contains(x.Source.Uploads(), file), err
}

// uploadFeed reads the uploads of a draft as a source. Its cursor is the number of rows that could be read: after a crash
// it reads from the beginning again and skips those.
type uploadFeed struct {
	all *upload.Uploads
	how *HowToAppend
	of  *stored.Source
	at  uploadCursor
	// next reads on; nil: it has to begin.
	next func() (row, error, bool)
	stop func()
}

type uploadCursor struct {
	Items int64 `json:"items"`
}

const uploadPage = 5000

// Read implements feed.Feed.
func (f *uploadFeed) Read(ctx context.Context, from feed.Cursor) (feed.Page, error) {
	var want uploadCursor
	if from != "" {
		if err := json.Unmarshal([]byte(from), &want); err != nil {
			return feed.Page{}, &feed.PermanentError{Code: feed.CodeBadCursor, Problem: "the cursor cannot be read", Err: err}
		}
	}
	if f.next == nil || f.at != want {
		if err := f.seek(ctx, want); err != nil {
			return feed.Page{}, err
		}
	}
	var page feed.Page
	for len(page.Items) < uploadPage {
		it, err, more := f.next()
		if !more {
			page.Last = true
			break
		}
		if f.passes(err) {
			page.Bad++
			continue
		}
		if err != nil {
			return feed.Page{}, unreadable(it.file, err)
		}
		f.at.Items = it.no
		page.Items = append(page.Items, weir.RawItem{ID: it.ID, Value: append([]byte(nil), it.Data...)})
	}
	raw, err := json.Marshal(f.at)
	page.Next = feed.Cursor(raw)
	return page, err
}

// unreadable says why the rows of an upload cannot be read.
func unreadable(file int, err error) error {
	if file > 1 {
		err = fmt.Errorf("file %d: %w", file, err)
	}
	return &feed.PermanentError{Code: feed.CodeBadItem, Problem: err.Error(), Err: err}
}

// passes reports whether an invalid row is skipped.
func (f *uploadFeed) passes(err error) bool {
	var bad *source.RowError
	return f.how.Record && errors.As(err, &bad)
}

// seek starts over and skips the rows that were read before.
func (f *uploadFeed) seek(ctx context.Context, to uploadCursor) error {
	_ = f.Close() // it was only read
	rows, err := openRows(ctx, f.all, f.of, f.how, source.Options{})
	if errors.Is(err, weir.ErrNotFound) {
		return &feed.PermanentError{Code: feed.CodeNotFound, Problem: "the upload was removed", Err: err}
	}
	if bad := (*fileError)(nil); errors.As(err, &bad) {
		return unreadable(bad.file, bad.err)
	}
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(rows.all())
	f.next, f.stop, f.at = next, func() { stop(); _ = rows.Close() }, uploadCursor{}
	for f.at.Items < to.Items {
		it, err, more := next()
		if f.passes(err) {
			continue
		}
		if f.at.Items = it.no; err != nil || !more || it.no > to.Items {
			return &feed.PermanentError{Code: feed.CodeChanged, Problem: "the upload was changed", Err: err}
		}
	}
	return nil
}

// Close implements feed.Feed.
func (f *uploadFeed) Close() error {
	if f.stop != nil {
		f.stop()
	}
	f.next, f.stop = nil, nil
	return nil
}

// uploadsFor is how long an untouched upload is kept.
const uploadsFor = 7 * 24 * time.Hour
