// Package upload keeps files that are sent in pieces, by the tus protocol, until a bulk action
// reads them.
//
// A file consists of blocks in the store and a record that lists them in order: any node can
// take the next piece. A piece is written under unused block numbers, and becomes part of the
// file by a compare-and-swap of the record, so an interrupted piece leaves nothing in the file.
package upload

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
)

// pieceBytes is the largest size of a block.
const pieceBytes = 4 << 20

// Blocks stores bytes under numbers. The engine implements it.
type Blocks interface {
	// NewID makes the id that a file's blocks are kept under.
	NewID(ctx context.Context, tenant string) (weir.BulkID, error)
	PutPiece(ctx context.Context, id weir.BulkID, no uint32, piece []byte) error
	GetPiece(ctx context.Context, id weir.BulkID, no uint32) ([]byte, error)
	DropPieces(ctx context.Context, id weir.BulkID) error
}

// File is the record of an upload.
type File struct {
	Tenant  string            `json:"tenant,omitempty"` // of the key; empty: the key has several, or all
	Key     string            `json:"key"`              // id of the API key that created it
	Size    int64             `json:"size"`
	Open    bool              `json:"open,omitempty"` // its size is not known yet
	Offset  int64             `json:"offset"`
	Pieces  []piece           `json:"pieces,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"`
	Created time.Time         `json:"created"`
	Touched time.Time         `json:"touched"`
	// Used lists the bulk actions that have not read all items of it yet.
	Used []string `json:"used,omitempty"`
	// Gone: it is being removed. Some of its blocks may already be missing.
	Gone bool `json:"gone,omitempty"`
}

type piece struct {
	No    uint32 `json:"no"`
	Bytes int64  `json:"bytes"`
}

// Done reports whether the file is complete.
func (f *File) Done() bool { return !f.Open && f.Offset == f.Size }

// For reports whether a key may read an upload for a tenant.
func (f *File) For(tenant, key string) bool {
	if f.Tenant == "" {
		return f.Key == key
	}
	return f.Tenant == tenant
}

// Uploads manages the files of a store. It implements a data store of package tusd.
type Uploads struct {
	files  *records.Table[File]
	blocks Blocks
	who    func(context.Context) (tenant, key string)
}

// New returns the uploads of a store. The function who returns the key of a request and its
// tenant, which is empty unless the key has exactly one.
func New(k records.Keeper, b Blocks, who func(context.Context) (tenant, key string)) *Uploads {
	return &Uploads{records.New[File](k, "upload"), b, who}
}

const idPrefix, bulkPrefix = "upl_", "ba_"

// blocksOf returns the id under which the blocks of an upload are kept.
func blocksOf(id string) weir.BulkID { return weir.BulkID(bulkPrefix + id[len(idPrefix):]) }

// OfBlocks returns the upload whose blocks are kept under an id.
func OfBlocks(id weir.BulkID) string { return idPrefix + string(id[len(bulkPrefix):]) }

// Has reports whether blocks belong to an upload.
func (u *Uploads) Has(ctx context.Context, id weir.BulkID) (bool, error) {
	_, err := u.files.Get(ctx, OfBlocks(id))
	if errors.Is(err, weir.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Get returns an upload.
func (u *Uploads) Get(ctx context.Context, id string) (File, error) {
	if len(id) != len(idPrefix)+26 || id[:len(idPrefix)] != idPrefix {
		return File{}, fmt.Errorf("upload %q: %w", id, weir.ErrNotFound)
	}
	e, err := u.files.Get(ctx, id)
	if err == nil && e.Value.Gone {
		return File{}, fmt.Errorf("upload %q: %w", id, weir.ErrNotFound)
	}
	return e.Value, err
}

// Reader reads an upload from its beginning.
func (u *Uploads) Reader(ctx context.Context, id string) (io.Reader, error) {
	f, err := u.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return &reader{ctx: ctx, blocks: u.blocks, id: blocksOf(id), left: f.Pieces}, nil
}

type reader struct {
	ctx    context.Context
	blocks Blocks
	id     weir.BulkID
	left   []piece
	have   []byte
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for len(r.have) == 0 {
		if len(r.left) == 0 {
			return 0, io.EOF
		}
		next, err := r.blocks.GetPiece(r.ctx, r.id, r.left[0].No)
		if err != nil {
			return 0, fmt.Errorf("read upload: %w", err)
		}
		if int64(len(next)) != r.left[0].Bytes {
			return 0, fmt.Errorf("read upload: a piece has %d bytes, not %d", len(next), r.left[0].Bytes)
		}
		r.have, r.left = next, r.left[1:]
	}
	n := copy(p, r.have)
	r.have = r.have[n:]
	return n, nil
}

// NewUpload implements handler.DataStore.
func (u *Uploads) NewUpload(ctx context.Context, info handler.FileInfo) (handler.Upload, error) {
	tenant, key := u.who(ctx)
	id, err := u.blocks.NewID(ctx, tenant)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	f := File{Tenant: tenant, Key: key, Size: info.Size, Open: info.SizeIsDeferred, Meta: info.MetaData, Created: now, Touched: now}
	name := OfBlocks(id)
	if _, err := u.files.Insert(ctx, name, f); err != nil {
		return nil, err
	}
	return &one{u, name}, nil
}

// GetUpload implements handler.DataStore. It does not find uploads of other tenants.
func (u *Uploads) GetUpload(ctx context.Context, id string) (handler.Upload, error) {
	f, err := u.Get(ctx, id)
	if tenant, key := u.who(ctx); errors.Is(err, weir.ErrNotFound) || err == nil && !f.For(tenant, key) {
		return nil, handler.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return &one{u, id}, nil
}

// AsTerminatableUpload implements handler.TerminaterDataStore.
func (u *Uploads) AsTerminatableUpload(up handler.Upload) handler.TerminatableUpload {
	return up.(*one)
}

// AsLengthDeclarableUpload implements handler.LengthDeferrerDataStore.
func (u *Uploads) AsLengthDeclarableUpload(up handler.Upload) handler.LengthDeclarableUpload {
	return up.(*one)
}

// one is an upload as tusd sees it.
type one struct {
	all *Uploads
	id  string
}

// GetInfo implements handler.Upload.
func (o *one) GetInfo(ctx context.Context) (handler.FileInfo, error) {
	f, err := o.all.Get(ctx, o.id)
	if errors.Is(err, weir.ErrNotFound) {
		err = handler.ErrNotFound
	}
	return handler.FileInfo{ID: o.id, Size: f.Size, SizeIsDeferred: f.Open, Offset: f.Offset, MetaData: f.Meta}, err
}

// WriteChunk implements handler.Upload. Data written before an error is kept.
func (o *one) WriteChunk(ctx context.Context, offset int64, src io.Reader) (written int64, err error) {
	buf := make([]byte, pieceBytes)
	for {
		n, err := io.ReadFull(src, buf)
		if n > 0 {
			if bad := o.add(ctx, offset+written, buf[:n]); bad != nil {
				return written, bad
			}
			written += int64(n)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return written, nil
		}
		if err != nil {
			return written, err
		}
	}
}

// add makes a piece part of the file, if the file still ends at offset.
func (o *one) add(ctx context.Context, offset int64, p []byte) error {
	f, err := o.all.Get(ctx, o.id)
	if err != nil {
		return err
	}
	no := freshNumber(f.Pieces)
	if err := o.all.blocks.PutPiece(ctx, blocksOf(o.id), no, p); err != nil {
		return err
	}
	_, err = o.all.files.Update(ctx, o.id, func(f *File) error {
		switch {
		case f.Gone:
			return handler.ErrNotFound
		case f.Offset != offset:
			return handler.ErrMismatchOffset
		}
		f.Offset += int64(len(p))
		f.Pieces = append(f.Pieces, piece{no, int64(len(p))})
		f.Touched = time.Now().UTC()
		return nil
	})
	return err
}

// freshNumber returns a random number that no piece of the file has. Of two concurrent writers,
// neither overwrites the other's block.
func freshNumber(have []piece) uint32 {
	for {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		no := binary.BigEndian.Uint32(b[:]) >> 1
		if !slices.ContainsFunc(have, func(p piece) bool { return p.No == no }) {
			return no
		}
	}
}

// GetReader implements handler.Upload.
func (o *one) GetReader(ctx context.Context) (io.ReadCloser, error) {
	r, err := o.all.Reader(ctx, o.id)
	return io.NopCloser(r), err
}

// FinishUpload implements handler.Upload. The record already shows that the file is complete.
func (o *one) FinishUpload(context.Context) error { return nil }

// DeclareLength implements handler.LengthDeclarableUpload.
func (o *one) DeclareLength(ctx context.Context, length int64) error {
	_, err := o.all.files.Update(ctx, o.id, func(f *File) error {
		if !f.Open && f.Size != length || length < f.Offset { // of two concurrent declarations, one was first
			return handler.ErrInvalidUploadLength
		}
		f.Size, f.Open = length, false
		return nil
	})
	return err
}

// Terminate implements handler.TerminatableUpload.
func (o *one) Terminate(ctx context.Context) error { return o.all.Remove(ctx, o.id) }
