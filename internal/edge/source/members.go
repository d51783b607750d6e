package source

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// members yields the raw names, with quotes, and values of a valid JSON object.
func members(doc []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for i := next(doc, 1); doc[i] == '"'; {
			end := stringEnd(doc, i)
			name := doc[i:end]
			i = next(doc, next(doc, end)+1)
			end = valueEnd(doc, i)
			if !yield(name, doc[i:end]) {
				return
			}
			if i = next(doc, end); doc[i] == ',' {
				i = next(doc, i+1)
			}
		}
	}
}

// memberOf returns the value of a member of a valid JSON object, and where the value starts.
func memberOf(doc []byte, name string) (value []byte, at int) {
	for n, v := range members(doc) {
		raw := n[1 : len(n)-1]
		if string(raw) == name || bytes.IndexByte(raw, '\\') >= 0 && unquote(n) == name {
			return v, cap(doc) - cap(v)
		}
	}
	return nil, 0
}

// unquote returns the text of a valid JSON string.
func unquote(quoted []byte) string {
	raw := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		panic("source: unquote of a checked string: " + err.Error())
	}
	return string(text)
}

// next returns the index of the first byte from i on that is not white space.
func next(doc []byte, i int) int {
	for doc[i] == ' ' || doc[i] == '\t' || doc[i] == '\n' || doc[i] == '\r' {
		i++
	}
	return i
}

// stringEnd returns the end of the string that starts at i, behind its quote.
func stringEnd(doc []byte, i int) int {
	for i++; doc[i] != '"'; i++ {
		if doc[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd returns the end of the value that starts at i.
func valueEnd(doc []byte, i int) int {
	var s scanner
	n, _ := s.scan(doc[i:])
	return i + n
}

// scanner finds where a JSON value ends without checking it, so that a broken element of an
// array costs only that element. It can continue with the next piece where the last one ended.
type scanner struct {
	depth   int
	inText  bool
	escaped bool
}

// scan scans b and returns how many bytes belong to the value and whether it ended in b. A
// number or word ends before the delimiter behind it.
func (s *scanner) scan(b []byte) (n int, done bool) {
	for i := 0; i < len(b); i++ {
		c := b[i]
		if s.inText {
			switch {
			case s.escaped:
				s.escaped = false
			case c == '\\':
				s.escaped = true
			case c == '"':
				if s.inText = false; s.depth == 0 {
					return i + 1, true
				}
			}
			continue
		}
		switch c {
		case '"':
			s.inText = true
		case '{', '[':
			s.depth++
		case '}', ']', ',', ' ', '\t', '\r', '\n':
			if s.depth == 0 {
				return i, true
			}
			if c == '}' || c == ']' {
				if s.depth--; s.depth == 0 {
					return i + 1, true
				}
			}
		}
	}
	return len(b), false
}
