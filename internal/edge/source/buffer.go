package source

import (
	"bytes"
	"errors"
	"io"
)

// errTooLong means that a line, or an element, is longer than the buffer may grow.
var errTooLong = errors.New("longer than the buffer")

// buffer is the part of the input that is held in memory, which slides over the stream
// and grows up to limit. Slices of it stay valid until the next call that reads.
type buffer struct {
	r          io.Reader
	buf        []byte
	start, end int // unread bytes are buf[start:end]
	limit      int // most unread bytes held
	line       int // line of the first unread byte, from 1
	col        int // bytes of that line already consumed
	err        error
}

const firstBuffer = 64 << 10

func newBuffer(r io.Reader, limit int) *buffer {
	return &buffer{r: r, buf: make([]byte, min(firstBuffer, limit)), limit: limit, line: 1}
}

func (w *buffer) unread() []byte { return w.buf[w.start:w.end] }

// more reads once. It returns false if nothing was added: at the end, after an error (both in
// w.err), or if limit bytes are held already.
func (w *buffer) more() bool {
	if w.err != nil || w.end-w.start >= w.limit {
		return false
	}
	if w.start > 0 {
		w.end = copy(w.buf, w.unread())
		w.start = 0
	}
	if w.end == len(w.buf) {
		w.buf = append(w.buf, make([]byte, min(len(w.buf), w.limit-len(w.buf)))...)
	}
	return w.read()
}

func (w *buffer) read() bool {
	for range 100 {
		n, err := w.r.Read(w.buf[w.end:])
		w.end += n
		w.err = err
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	w.err = io.ErrNoProgress
	return false
}

// nextLine finds the line that starts at the first unread byte, at least from bytes long, without its line
// feed, and its length with it. Nothing is consumed. The last line needs no line feed.
func (w *buffer) nextLine(from int) (line []byte, n int, err error) {
	for scanned := from; ; {
		b := w.unread()
		if i := bytes.IndexByte(b[scanned:], '\n'); i >= 0 {
			return b[:scanned+i], scanned + i + 1, nil
		}
		scanned = len(b)
		if w.more() {
			continue
		}
		switch b = w.unread(); {
		case w.err == nil:
			return nil, 0, errTooLong
		case w.err != io.EOF:
			return nil, 0, w.err
		case len(b) == 0:
			return nil, 0, io.EOF
		}
		return b, len(b), nil
	}
}

// dropLine consumes n bytes that end one line.
func (w *buffer) dropLine(n int) {
	w.start += n
	w.line++
	w.col = 0
}

// drop consumes n bytes of any kind and keeps count of lines and columns.
func (w *buffer) drop(n int) {
	b := w.buf[w.start : w.start+n]
	w.start += n
	lines := bytes.Count(b, []byte{'\n'})
	if lines == 0 {
		w.col += n
		return
	}
	w.line += lines
	w.col = n - 1 - bytes.LastIndexByte(b, '\n')
}

// skipLine consumes a line of any length without holding it.
func (w *buffer) skipLine() error {
	for {
		b := w.unread()
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			w.dropLine(i + 1)
			return nil
		}
		w.drop(len(b))
		if !w.more() {
			if w.err == io.EOF {
				return nil
			}
			return w.err
		}
	}
}
