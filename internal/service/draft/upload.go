package draft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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

// checkUpload checks that an API key may have an upload read for a tenant.
func (s *files) checkUpload(ctx context.Context, id, tenant, by string) error {
	f, err := s.uploads.Get(ctx, id)
	switch {
	case err != nil || !f.For(tenant, by):
		return unknownUpload(id)
	case !f.Done():
		return &weir.FieldError{Code: "upload_incomplete", Field: "source.upload",
			Problem: fmt.Sprintf("%d of %d bytes of %s have arrived", f.Offset, f.Size, id), Fix: "send the rest first"}
	}
	return nil
}

func unknownUpload(id string) error {
	return &weir.FieldError{Code: "unknown_upload", Field: "source.upload",
		Problem: fmt.Sprintf("unknown upload %q, or its items were already imported", id), Fix: "begin one with POST /v1/uploads"}
}

// useUpload keeps the upload that a source names, if any, for a draft.
func (s *files) useUpload(ctx context.Context, id string, from *stored.Source) error {
	if from == nil || from.Upload == "" {
		return nil
	}
	err := s.uploads.Use(ctx, from.Upload, id)
	switch {
	case errors.Is(err, weir.ErrNotFound): // removed in the meantime
		return unknownUpload(from.Upload)
	case errors.Is(err, upload.ErrTooManyUses):
		return &check.Refusal{Code: "wrong_state", Detail: err.Error(), Fix: "start or delete one of them first"}
	}
	return err
}

// releaseUpload removes the upload of a draft that does not need it any more, unless other drafts do, or the bulk action
// made of it has bad rows to list.
func (s *files) releaseUpload(ctx context.Context, id string) error {
	d, err := s.Get(ctx, id)
	if err != nil || uploadOf(&d.Spec) == "" {
		return records.IgnoreGone(err)
	}
	if listed, err := s.listsBadRows(ctx, uploadOf(&d.Spec), id); listed || err != nil {
		return err
	}
	return s.uploads.Release(ctx, uploadOf(&d.Spec), id)
}

// waitsFor reports whether a draft still has to read an upload, or a bulk action has bad rows in it.
func (s *files) waitsFor(ctx context.Context, file, id string) (bool, error) {
	d, err := s.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) {
		return s.listsBadRows(ctx, file, id)
	}
	return err == nil && uploadOf(&d.Spec) == file, err
}

// listsBadRows reports whether a bulk action that is kept left out rows of an upload.
func (s *files) listsBadRows(ctx context.Context, file, id string) (bool, error) {
	b, err := s.engine.Get(ctx, weir.BulkID(id))
	if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	x, err := stored.ParseExtra(b.Info().Extra)
	return err == nil && x.BadLines > 0 && x.Source != nil && x.Source.Upload == file, err
}

// uploadFeed reads an upload as a source. Its cursor is the number of items read: after a crash it
// reads from the beginning again and skips those.
type uploadFeed struct {
	all    *upload.Uploads
	id     string
	itemID string
	names  source.Names // of columns that the file has to have
	// skipBad counts invalid rows and continues.
	skipBad bool
	at      uploadCursor
	next    func() (source.Item, error, bool)
	stop    func()
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
			return feed.Page{}, &feed.PermanentError{Code: feed.CodeBadItem, Problem: err.Error()}
		}
		page.Items = append(page.Items, weir.RawItem{ID: it.ID, Value: append([]byte(nil), it.Data...)})
	}
	f.at.Items += int64(len(page.Items))
	raw, err := json.Marshal(f.at)
	page.Next = feed.Cursor(raw)
	return page, err
}

// passes reports whether an invalid row is skipped.
func (f *uploadFeed) passes(err error) bool {
	var row *source.RowError
	return f.skipBad && errors.As(err, &row)
}

// seek starts over and skips the items that were read before.
func (f *uploadFeed) seek(ctx context.Context, to uploadCursor) error {
	_ = f.Close() // it was only read
	file, err := f.all.Get(ctx, f.id)
	if err != nil {
		return &feed.PermanentError{Code: feed.CodeNotFound, Problem: "the upload was removed", Err: err}
	}
	r, err := f.all.Reader(ctx, f.id)
	if err != nil {
		return err
	}
	rd, err := source.Open(r, file.Meta["filename"], source.Options{IDColumn: f.itemID, Names: f.names})
	if err != nil {
		return &feed.PermanentError{Code: feed.CodeBadItem, Problem: err.Error(), Err: err}
	}
	next, stop := iter.Pull2(rd.Items())
	f.next, f.stop, f.at = next, func() { stop(); _ = rd.Close() }, uploadCursor{}
	for f.at.Items < to.Items {
		_, err, more := next()
		if f.passes(err) {
			continue
		}
		if err != nil || !more {
			return &feed.PermanentError{Code: feed.CodeChanged, Problem: "the upload was changed", Err: err}
		}
		f.at.Items++
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
