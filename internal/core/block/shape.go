package block

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	// maxShapes is how many shapes a block may have; documents of further ones stay as they are.
	maxShapes = 8
	// maxColumns is how many values a document of a shape may have.
	maxColumns = 64
)

// shape is what JSON documents have in common: everything but their scalar values. Member names are part of it, so
// a document that matches the shape of a valid one is valid, too.
type shape struct {
	parts [][]byte // before, between and behind the values: one more than columns
	cols  []column
}

// column holds one value of each document of a shape. A length is a uvarint whose lowest bit says that the value is
// a string, whose quotes are left out.
type column struct{ lens, values []byte }

// value is where a scalar value stands in a document, without quotes.
type value struct {
	from, to int
	text     bool // it is a string
}

// learn makes the shape of a valid JSON document. It returns false if that has too many values or none.
func (s *shape) learn(doc []byte) bool {
	s.parts, s.cols = s.parts[:0], s.cols[:0]
	part := 0
	for i := 0; i < len(doc); {
		var v value
		switch c := doc[i]; {
		case c == '"':
			v = value{i + 1, closing(doc, i+1), true}
			if i = v.to + 1; named(doc[i:]) {
				continue
			}
		case bare[c]:
			v = value{i, i + bareLen(doc[i:]), false}
			i = v.to
		default:
			i++
			continue
		}
		if len(s.cols) == maxColumns {
			return false
		}
		end := v.from
		if v.text {
			end--
		}
		s.parts = append(s.parts, bytes.Clone(doc[part:end]))
		s.addColumn()
		part = i
	}
	s.parts = append(s.parts, bytes.Clone(doc[part:]))
	return len(s.cols) > 0
}

// addColumn adds an empty column, in the memory of one of an earlier block if there is one.
func (s *shape) addColumn() {
	if len(s.cols) == cap(s.cols) {
		s.cols = append(s.cols, column{})
		return
	}
	s.cols = s.cols[:len(s.cols)+1]
	c := &s.cols[len(s.cols)-1]
	c.lens, c.values = c.lens[:0], c.values[:0]
}

// closing returns where the string ends that begins at a place behind its first quote.
func closing(doc []byte, at int) int {
	for ; doc[at] != '"'; at++ {
		if doc[at] == '\\' {
			at++
		}
	}
	return at
}

// named reports whether what follows a string makes it the name of a member.
func named(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// match finds the values of a document of this shape. Strings with escapes are valid if valid says so of them, with their quotes.
func (s *shape) match(doc []byte, found *[maxColumns]value, valid func([]byte) bool) bool {
	at := 0
	for i := range s.cols {
		part := s.parts[i]
		if len(doc)-at <= len(part) || string(doc[at:at+len(part)]) != string(part) {
			return false
		}
		at += len(part)
		if doc[at] != '"' {
			n := bareLen(doc[at:])
			if !scalar(doc[at : at+n]) {
				return false
			}
			found[i] = value{at, at + n, false}
			at += n
			continue
		}
		to, ok := text(doc, at+1, valid)
		if !ok {
			return false
		}
		found[i] = value{at + 1, to, true}
		at = to + 1
	}
	return string(doc[at:]) == string(s.parts[len(s.cols)])
}

// Bits of every byte of a word.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// text returns where a string ends that begins at a place behind its first quote, and whether it is valid.
func text(doc []byte, from int, valid func([]byte) bool) (to int, ok bool) {
	at := from
	for ; at+8 <= len(doc); at += 8 { // eight bytes at a time, until one needs a look
		w := binary.LittleEndian.Uint64(doc[at:])
		quote, escape := w^('"'*ones), w^('\\'*ones)
		// A borrow makes bytes behind the first one found uncertain; that one is certain.
		if found := ((quote-ones)&^quote | (escape-ones)&^escape | (w-' '*ones)&^w | w) & highs; found != 0 {
			at += bits.TrailingZeros64(found) / 8
			break
		}
	}
	ascii := true
	for ; at < len(doc); at++ {
		switch c := doc[at]; {
		case c == '"':
			return at, ascii || utf8.Valid(doc[from:at])
		case c == '\\':
			return escaped(doc, from, at, valid)
		case c < ' ':
			return 0, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return 0, false
}

// escaped does the rest of text for a string with a backslash.
func escaped(doc []byte, from, at int, valid func([]byte) bool) (to int, ok bool) {
	for ; at < len(doc) && doc[at] != '"'; at++ {
		if doc[at] == '\\' {
			at++
		}
	}
	if at >= len(doc) || !valid(doc[from-1:at+1]) {
		return 0, false
	}
	return at, true
}

// bare holds the bytes of numbers and of true, false and null.
var bare = func() (set [256]bool) {
	for _, c := range "+-.0123456789Eaeflnrstu" {
		set[c] = true
	}
	return set
}()

func bareLen(b []byte) int {
	for i, c := range b {
		if !bare[c] {
			return i
		}
	}
	return len(b)
}

// scalar reports whether a token is a number, true, false or null.
func scalar(token []byte) bool {
	switch string(token) {
	case "true", "false", "null":
		return true
	}
	token = bytes.TrimPrefix(token, []byte{'-'})
	whole := digits(token)
	if whole == 0 || whole > 1 && token[0] == '0' {
		return false
	}
	if token = token[whole:]; len(token) > 0 && token[0] == '.' {
		n := digits(token[1:])
		if n == 0 {
			return false
		}
		token = token[1+n:]
	}
	if len(token) > 0 && (token[0] == 'e' || token[0] == 'E') {
		if token = token[1:]; len(token) > 0 && (token[0] == '+' || token[0] == '-') {
			token = token[1:]
		}
		return len(token) > 0 && digits(token) == len(token)
	}
	return len(token) == 0
}

func digits(b []byte) int {
	for i, c := range b {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(b)
}
