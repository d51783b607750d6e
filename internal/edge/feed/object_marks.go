package feed

import (
	"bytes"
	"io"
)

// wire records that a download broke, which a decompressor or parser behind it may report as
// another error.
type wire struct {
	body io.ReadCloser
	err  error
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// marks records where lines begin, from the last one requested on.
type marks struct {
	r      io.Reader
	off    bool    // no further calls of at
	pos    int64   // bytes read
	starts []int64 // of the lines first, first+1, ...
	first  int
	used   int    // starts that were already requested
	head   []byte // the first bytes
	zero   bool   // there was a zero byte
	shift  int64  // from a byte here to a byte of the object
}

func (m *marks) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.off {
		return n, err
	}
	b := p[:n]
	if room := maxHead - len(m.head); room > 0 {
		m.head = append(m.head, b[:min(room, n)]...)
	}
	m.zero = m.zero || bytes.IndexByte(b, 0) >= 0
	for i := 0; ; i++ {
		k := bytes.IndexByte(b[i:], '\n')
		if k < 0 {
			break
		}
		i += k
		m.starts = append(m.starts, m.pos+int64(i)+1)
	}
	m.pos += int64(n)
	return n, err
}

// at returns where a line begins. Later calls may not request earlier lines.
func (m *marks) at(line int) int64 {
	if m.off || line == 0 {
		return 0
	}
	if m.used = line - m.first; m.used > len(m.starts)/2 {
		m.starts = m.starts[:copy(m.starts, m.starts[m.used:])]
		m.first, m.used = line, 0
	}
	return m.starts[m.used]
}
