package service

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/feed"
	"github.com/weirhq/weir/internal/source"
	"github.com/weirhq/weir/internal/upload"
)

// Uploads are the resumable uploads; who tells on whose behalf a request is made.
func (s *Service) Uploads(who func(context.Context) (tenant, key string)) *upload.Uploads {
	return upload.New(s.opts.Store, s.engine, who)
}

// files are the uploads, for the service itself.
func (s *Service) files() *upload.Uploads {
	return s.Uploads(func(context.Context) (string, string) { return "", "" })
}

// checkUpload says whether an upload can be read for a tenant.
func (s *Service) checkUpload(ctx context.Context, id, tenant string) error {
	f, err := s.files().Get(ctx, id)
	switch {
	case err != nil || f.Tenant != tenant:
		return &weir.FieldError{Code: "unknown_upload", Field: "source.upload", Problem: fmt.Sprintf("there is no upload %q", id), Fix: "begin one with POST /v1/uploads"}
	case !f.Done():
		return &weir.FieldError{Code: "upload_incomplete", Field: "source.upload", Problem: fmt.Sprintf("%d of %d bytes of %s have arrived", f.Offset, f.Size, id), Fix: "send the rest first"}
	}
	return nil
}

// uploadFeed reads an upload as a source. Its cursor is how many items were read:
// after a crash it reads from the beginning again, and leaves those out.
type uploadFeed struct {
	all    *upload.Uploads
	id     string
	itemID string
	at     uploadCursor
	next   func() (source.Item, error, bool)
	stop   func()
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
			return feed.Page{}, &feed.PermanentError{Code: feed.CodeBadCursor, Problem: "the place to go on from cannot be read", Err: err}
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
		if err != nil {
			return feed.Page{}, &feed.PermanentError{Code: feed.CodeBadItem, Problem: err.Error(), Err: err}
		}
		page.Items = append(page.Items, weir.RawItem{ID: it.ID, Value: append([]byte(nil), it.Data...)})
	}
	f.at.Items += int64(len(page.Items))
	raw, err := json.Marshal(f.at)
	page.Next = feed.Cursor(raw)
	return page, err
}

// seek begins anew and passes over what was read before.
func (f *uploadFeed) seek(ctx context.Context, to uploadCursor) error {
	_ = f.Close() // only read from
	file, err := f.all.Get(ctx, f.id)
	if err != nil {
		return &feed.PermanentError{Code: feed.CodeNotFound, Problem: "the upload is gone", Err: err}
	}
	r, err := f.all.Reader(ctx, f.id)
	if err != nil {
		return err
	}
	rd, err := source.Open(r, file.Meta["filename"], source.Options{IDColumn: f.itemID})
	if err != nil {
		return &feed.PermanentError{Code: feed.CodeBadItem, Problem: err.Error(), Err: err}
	}
	next, stop := iter.Pull2(rd.Items())
	f.next, f.stop, f.at = next, func() { stop(); _ = rd.Close() }, uploadCursor{}
	for f.at.Items < to.Items {
		if _, err, more := next(); err != nil || !more {
			return &feed.PermanentError{Code: feed.CodeChanged, Problem: "the upload is not what it was", Err: err}
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

// uploadsFor is how long an upload is kept that nobody touches.
const uploadsFor = 7 * 24 * time.Hour
