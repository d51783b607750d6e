package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// appendText appends text as a JSON string; invalid UTF-8 becomes U+FFFD.
func appendText(dst, text []byte) []byte {
	quoted, _ := jsontext.AppendQuote(dst, text) // the error only reports a replacement
	return quoted
}

// stream is one NDJSON file. It holds documents and outputs byte for byte, except for line
// feeds between tokens.
type stream struct {
	f    *os.File
	w    *bufio.Writer
	line []byte
	rows int
}

func newStream(f *os.File) *stream {
	return &stream{f: f, w: bufio.NewWriterSize(f, bufferSize)}
}

// write adds the row of an item. Members that are empty are left out.
func (s *stream) write(r Row) error {
	l := append(s.line[:0], `{"id":`...)
	l = appendText(l, []byte(r.ID))
	for _, m := range [...]struct{ name, value string }{
		{`,"state":`, string(r.State)}, {`,"step":`, r.Step}, {`,"code":`, r.Code}, {`,"message":`, r.Message}, {`,"reason":`, r.Reason},
	} {
		if m.value != "" {
			l = appendText(append(l, m.name...), []byte(m.value))
		}
	}
	l = strconv.AppendInt(append(l, `,"attempts":`...), int64(r.Attempts), 10)
	l = appendJSON(l, `,"data":`, r.Data)
	l = appendJSON(l, `,"output":`, r.Output)
	s.line = append(l, '}', '\n')
	return s.put(s.line)
}

// appendJSON appends a document on one line. A document that is not valid JSON is kept as text,
// so that the line stays readable.
func appendJSON(dst []byte, name string, doc []byte) []byte {
	if len(doc) == 0 {
		return dst
	}
	dst = append(dst, name...)
	v := jsontext.Value(doc)
	if !v.IsValid(jsontext.AllowDuplicateNames(true)) {
		return appendText(dst, doc)
	}
	for _, c := range doc {
		if c == '\n' || c == '\r' {
			v = v.Clone()
			_ = v.Compact() // cannot fail: it is valid
			break
		}
	}
	return append(dst, v...)
}

// record adds a row of any other kind.
func (s *stream) record(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.put(append(line, '\n'))
}

func (s *stream) put(line []byte) error {
	s.rows++
	_, err := s.w.Write(line)
	return err
}

func (s *stream) count() int { return s.rows }

func (s *stream) close() error {
	err := s.w.Flush()
	if err == nil {
		err = s.f.Sync()
	}
	return errors.Join(err, s.f.Close())
}
