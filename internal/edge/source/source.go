package source

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// Item is one target of a bulk action.
type Item struct {
	// ID is the item's id, as in the file.
	ID string
	// Data is the item's JSON document. It is valid until the next item is read: copy it to
	// keep it.
	Data []byte
	// Line is where the item starts in the file, from 1.
	Line int
	// Corrects is, in a corrected list of bad rows, what its column weir_line says: the row that this one corrects.
	Corrects string
}

// Detected describes a file, as detected by [Open] or given in [Options].
type Detected struct {
	Format      Format
	Compression string   // gzip, zstd or empty
	Encoding    string   // utf-8, utf-16le, windows-1252, ...
	Marked      bool     // it begins with a byte order mark
	Delimiter   rune     // CSV only
	Declared    bool     // CSV only: its first line is sep= with the delimiter
	IDColumn    string   // column or member; empty for JSON whose first object has none
	Columns     []string // CSV only
}

// rows reads one format. next fills it and returns nil, a *RowError after which reading can
// continue, io.EOF, or an error that ends the stream.
type rows interface {
	next(it *Item) error
}

// Reader streams the items of one file. It belongs to one goroutine, except for BytesRead and
// Size.
type Reader struct {
	name   string
	opts   Options
	found  Detected
	rows   rows
	raw    *counter
	size   int64
	closes []func() error

	first    *Item // read ahead by Open, to detect the id member
	firstErr error
	count    int
	ended    bool
}

// Open starts to read items from r. The name is used to guess the format and in errors. An error is an
// [*InputError], or a [*RowError] for a header line that cannot be used.
func Open(r io.Reader, name string, o Options) (*Reader, error) {
	o = o.withDefaults()
	rd := &Reader{name: name, opts: o, size: -1, raw: &counter{r: r}}
	if err := o.validate(); err != nil {
		return nil, rd.named(err)
	}
	if err := rd.open(); err != nil {
		_ = rd.Close() // nothing was written: report the first error
		return nil, rd.named(err)
	}
	return rd, nil
}

// OpenFile starts to read items from the file at path.
func OpenFile(path string, o Options) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &InputError{Name: path, Code: CodeUnreadable, Problem: "cannot open the file", Err: errors.Unwrap(err)}
	}
	rd, err := Open(f, path, o)
	if err != nil {
		_ = f.Close() // only read from
		return nil, err
	}
	if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
		rd.size = st.Size()
	}
	rd.closes = append(rd.closes, f.Close)
	return rd, nil
}

// Close releases what Open and OpenFile allocated. A reader passed to Open stays open.
func (r *Reader) Close() error {
	var errs []error
	for _, c := range r.closes {
		errs = append(errs, c())
	}
	r.closes, r.ended = nil, true
	return errors.Join(errs...)
}

// Detected returns the detected properties of the file.
func (r *Reader) Detected() Detected { return r.found }

// BytesRead returns how many bytes of the file, as stored, were read so far. It is safe for
// concurrent use.
func (r *Reader) BytesRead() int64 { return r.raw.n.Load() }

// Size returns the size of the file as stored, or -1 if unknown.
func (r *Reader) Size() int64 { return r.size }

// Items streams the items in file order. With a [*RowError] the item is empty and the next one
// follows; any other error is an [*InputError] and comes last. A second call continues where
// the first stopped.
func (r *Reader) Items() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var it Item
		for !r.ended && (r.opts.Limit == 0 || r.count < r.opts.Limit) {
			err := r.next(&it)
			if err == io.EOF {
				r.ended = true
				return
			}
			if err != nil {
				it = Item{}
			} else {
				r.count++
			}
			if !yield(it, err) {
				return
			}
		}
	}
}

func (r *Reader) next(it *Item) error {
	err := r.firstErr
	switch {
	case r.first != nil:
		*it, r.first, r.firstErr = *r.first, nil, nil
	default:
		err = r.rows.next(it)
	}
	if err == nil || err == io.EOF {
		return err
	}
	if bad := (*RowError)(nil); errors.As(err, &bad) {
		return err
	}
	r.ended = true
	return r.named(err)
}

// readAhead reads the first item, so that Detected knows the id member.
func (r *Reader) readAhead() {
	r.first = new(Item)
	r.firstErr = r.rows.next(r.first)
	if d, ok := r.rows.(interface{ idMember() string }); ok {
		r.found.IDColumn = d.idMember()
	}
}

// named turns an error that ends a stream into an InputError with the file's name. A RowError
// stays as it is.
func (r *Reader) named(err error) error {
	var bad *RowError
	if errors.As(err, &bad) {
		return bad
	}
	var e *InputError
	if errors.As(err, &e) {
		e.Name = r.name
		return e
	}
	e = &InputError{Name: r.name, Code: CodeUnreadable, Problem: "cannot read on", Err: err}
	if r.found.Compression == "" {
		return e
	}
	e.Code, e.Problem, e.Fix = CodeCorrupt, "the "+r.found.Compression+" data is damaged", "make the file again"
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		e.Code, e.Problem, e.Fix = CodeWindow, fmt.Sprintf("the zstd data needs a window of more than %d MiB",
			maxWindow>>20), "compress it again without --long, or with --long=27 at most"
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		e.Code, e.Problem, e.Fix = CodeCutShort, "the "+r.found.Compression+" data ends too early", "the file is not whole: copy it again"
	}
	return e
}

// counter counts the bytes that went through.
type counter struct {
	r io.Reader
	n atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
