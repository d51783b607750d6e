package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Bodies with items are read as they come. A body that comes too slowly, is too
// long, or unpacks to far more than it was, ends with the problem that says so.
const (
	slowWindow  = 5 * time.Second // after which it is looked at how much came
	leastRate   = 1 << 10         // bytes a second
	ratioAfter  = 1 << 20         // unpacked bytes from which on the ratio counts
	mostRatio   = 100
	zstdWindow  = 8 << 20
	sniffLength = 4
)

// streamed asks an endpoint that reads its body itself.
func (s *Server) streamed(w *watched, r *http.Request, next http.Handler) {
	v := visitOf(r.Context())
	if s.opts.Limits != nil {
		end, err := s.opts.Limits.Upload(v.who.KeyID)
		if err != nil {
			s.refuse(w, v, s.problem(r.Context(), err))
			return
		}
		defer end()
	}
	next.ServeHTTP(w, r)
}

// patientBody puts an end to a body that comes too slowly.
func (s *Server) patientBody(w http.ResponseWriter, r *http.Request) *slowBody {
	return &slowBody{
		body: r.Body, control: http.NewResponseController(w), patience: s.opts.SlowBody,
		length: r.ContentLength, waits: r.Header.Get("Expect") != "",
	}
}

// slowBody gives up on a body that brings less than a kilobyte a second for too long.
type slowBody struct {
	body     io.ReadCloser
	control  *http.ResponseController
	patience time.Duration
	slow     time.Duration // for how long it has been slow
	waited   time.Duration // for what has come lately; what we do with it meanwhile does not count
	came     int64
	length   int64 // as announced; -1: not
	waits    bool  // the client sends nothing until something is read
	ended    bool  // the body has ended
	failed   error // once it has failed it stays so: a caller that peeks may not report it
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	b.waits = false
	n, err := b.read(p)
	b.ended = errors.Is(err, io.EOF)
	if err != nil && !b.ended {
		b.failed = err
	}
	return n, err
}

// Limits for reading an unwanted body: bytes and time.
const (
	drainMost = 64 << 20
	drainFor  = 5 * time.Second
)

// drain reads what is left of a body and drops it. Many clients send all of a body
// before they read the answer, and see a broken connection instead of it otherwise.
func (b *slowBody) drain() {
	if b.ended || b.waits || b.failed != nil || b.length == 0 || b.length > drainMost {
		return
	}
	_ = b.control.SetReadDeadline(time.Now().Add(drainFor)) // a connection without deadlines is one of a test
	_, _ = io.CopyN(io.Discard, b.body, drainMost)          // else the connection is closed
	_ = b.control.SetReadDeadline(time.Time{})
}

func (b *slowBody) read(p []byte) (int, error) {
	from := time.Now()
	_ = b.control.SetReadDeadline(from.Add(b.patience)) // a connection without deadlines is one of a test
	n, err := b.body.Read(p)
	if errors.Is(err, io.EOF) { // whatever is done with it may take longer
		_ = b.control.SetReadDeadline(time.Time{})
	}
	b.count(n, time.Since(from))
	if timedOut(err) || b.slow >= b.patience {
		return 0, newProblem("too_slow", fmt.Sprintf("the body brings less than 1 kB a second for %v", b.patience),
			"send it faster, or as a resumable upload")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return n, newProblem("cut_body", "the body ended before its length was reached", "send it again, with the right Content-Length")
	}
	return n, err
}

// count notes what came in some time, and looks now and then whether that is enough.
func (b *slowBody) count(n int, took time.Duration) {
	b.came += int64(n)
	if b.waited += took; b.waited < min(slowWindow, b.patience) {
		return
	}
	if b.came < int64(b.waited.Seconds()*leastRate) {
		b.slow += b.waited
	} else {
		b.slow = 0
	}
	b.waited, b.came = 0, 0
}

// Close implements io.Closer.
func (b *slowBody) Close() error { return b.body.Close() }

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// unpack reads a body as it was before it was packed, by its header or by its first bytes.
func unpack(r *http.Request, most int64) (io.Reader, error) {
	enc := strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ","))
	switch enc {
	case "", "identity", "gzip", "x-gzip", "zstd":
	default:
		return nil, newProblem("unsupported_encoding", "the Content-Encoding is "+shorten(enc), "send it plain, or as gzip or zstd")
	}
	packed := &counted{r: r.Body, length: r.ContentLength}
	plain, err := unpackOnce(packed)
	if err != nil {
		return nil, err
	}
	if plain == nil && enc != "" && enc != "identity" {
		if _, err := packed.peeked().Peek(1); isProblem(err) {
			return nil, err
		}
		return nil, newProblem("bad_gzip", "the Content-Encoding is "+enc+", and the body is not", "pack it, or leave the header out")
	}
	if plain == nil {
		return &bounded{r: packed.peeked(), most: most}, nil
	}
	inner := bufio.NewReader(&bounded{r: plain, most: most, packed: packed})
	if head, err := inner.Peek(sniffLength); isProblem(err) {
		return nil, err
	} else if isPacked(head) {
		return nil, newProblem("unsupported_encoding", "the body is packed twice", "pack it once")
	}
	return inner, nil
}

// unpackOnce returns nil if the body is not packed.
func unpackOnce(packed *counted) (io.Reader, error) {
	head, _ := packed.peeked().Peek(sniffLength) // an error comes again when it is read
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(packed.peeked())
		if err != nil {
			return nil, newProblem("bad_gzip", "the body begins like gzip, and is not", "pack it again")
		}
		return z, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(packed.peeked(), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, newProblem("bad_gzip", "the body begins like zstd, and is not", "pack it again")
		}
		return z.IOReadCloser(), nil
	}
	return nil, nil
}

func isPacked(head []byte) bool {
	return bytes.HasPrefix(head, []byte{0x1f, 0x8b}) || bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd})
}

// counted counts what is read of a packed body.
type counted struct {
	r      io.Reader
	length int64 // of the body; less than 0: unknown
	n      int64
	b      *bufio.Reader
}

// readSize is how much of a body is read at once.
const readSize = 64 << 10

func (c *counted) peeked() *bufio.Reader {
	if c.b == nil {
		size := readSize
		if 0 <= c.length && c.length < readSize {
			size = int(c.length) + 1 // most bodies are small: none needs a whole buffer of its own
		}
		c.b = bufio.NewReaderSize(readerFunc(func(p []byte) (int, error) {
			n, err := c.r.Read(p)
			c.n += int64(n)
			return n, err
		}), size)
	}
	return c.b
}

type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// bounded ends a body that is too long or unpacks to too much.
type bounded struct {
	r      io.Reader
	most   int64
	packed *counted // nil: it is not packed
	n      int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	switch {
	case b.packed != nil && b.n > ratioAfter && b.n > mostRatio*max(b.packed.n, 1):
		return 0, newProblem("expands_too_far",
			fmt.Sprintf("%s became more than %d times as much", size(b.packed.n), mostRatio), "send it unpacked")
	case b.n > b.most && b.packed != nil:
		return 0, newProblem("expands_too_far", "unpacked it has more than "+size(b.most), "send it in parts")
	case b.n > b.most:
		return 0, newProblem("body_too_large", "the body has more than "+size(b.most), "send it in parts")
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return n, newProblem("window_too_large", "the zstd body needs a window of more than "+size(zstdWindow),
			"compress it without --long and --ultra, send it as gzip, or use an upload, which takes 128 MiB")
	case err != nil && !errors.Is(err, io.EOF) && b.packed != nil && !isProblem(err):
		return n, newProblem("bad_gzip", "the packed body is cut or damaged", "pack and send it again")
	}
	return n, err
}

func isProblem(err error) bool {
	var p *problem
	return errors.As(err, &p)
}
