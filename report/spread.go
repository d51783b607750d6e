package report

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// spread puts the members of JSON objects of one kind into columns of a table. Documents of one
// bulk action are similar, so it first tries the columns in the order of the last one.
type spread struct {
	whole  string              // column for a document that is not an object
	rename func(string) string // member to column
	byName map[string]*known   // by quoted member name, as written
	order  []*known            // the members of the last document
	buf    bytes.Buffer
	dec    *jsontext.Decoder
}

// known holds the column of a member.
type known struct {
	name   string // quoted, as written
	title  string // of its column
	column int    // noColumn until the first value comes
}

func newSpread(whole string, rename func(string) string) spread {
	return spread{whole: whole, rename: rename, byName: make(map[string]*known), dec: new(jsontext.Decoder)}
}

// put sets the cells of t from doc. It keeps text that is not valid JSON as a whole: a report
// loses nothing.
func (s *spread) put(t *table, doc []byte) {
	if len(doc) == 0 || string(doc) == "null" {
		return
	}
	if doc[0] != '{' || !s.members(t, doc) {
		if i := t.column(s.whole); i != noColumn {
			t.cells[i] = cellText(doc)
		}
	}
}

func (s *spread) members(t *table, doc []byte) bool {
	s.buf = *bytes.NewBuffer(doc)
	s.dec.Reset(&s.buf, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := s.dec.ReadToken(); err != nil {
		return false
	}
	for n := 0; s.dec.PeekKind() == '"'; n++ {
		name, ok := s.read(doc)
		if !ok {
			return false
		}
		value, ok := s.read(doc)
		if !ok {
			return false
		}
		s.set(t, n, name, value)
	}
	_, err := s.dec.ReadToken()
	return err == nil
}

// read returns the next name or value as a part of doc, which, unlike the decoder's result,
// stays valid.
func (s *spread) read(doc []byte) ([]byte, bool) {
	v, err := s.dec.ReadValue()
	end := int(s.dec.InputOffset())
	return doc[end-len(v) : end], err == nil
}

func (s *spread) set(t *table, n int, name, value []byte) {
	k := s.known(n, name)
	text := cellText(value)
	if k.title == "data.id" && bytes.Equal(text, t.cells[0]) {
		return // the first column has it already
	}
	if k.column == noColumn {
		k.column = t.column(k.title)
	}
	if k.column == noColumn {
		t.addMore(k.title, value)
		return
	}
	t.cells[k.column] = text
}

// known returns the column of member n of a document, and adds it if it is new.
func (s *spread) known(n int, name []byte) *known {
	if n < len(s.order) && s.order[n].name == string(name) {
		return s.order[n]
	}
	k := s.byName[string(name)]
	if k == nil {
		k = &known{name: string(name), title: s.rename(string(cellText(name))), column: noColumn}
		if len(s.byName) < 2*maxColumns { // endless names must not take endless memory
			s.byName[k.name] = k
		}
	}
	switch {
	case n < len(s.order):
		s.order[n] = k
	case n == len(s.order) && n < maxColumns:
		s.order = append(s.order, k)
	}
	return k
}

// cellText returns a JSON value as a cell: text without quotes, null as empty, all else
// unchanged.
func cellText(value []byte) []byte {
	switch {
	case string(value) == "null":
		return nil
	case len(value) < 2 || value[0] != '"':
		return value
	case bytes.IndexByte(value, '\\') < 0:
		return value[1 : len(value)-1]
	}
	if text, err := jsontext.AppendUnquote(nil, value); err == nil {
		return text
	}
	return value
}

// addMore keeps a member without a column.
func (t *table) addMore(title string, value []byte) {
	sep := byte(',')
	if len(t.more) == 0 {
		sep = '{'
	}
	t.more = append(t.more, sep)
	t.more = append(appendText(t.more, []byte(title)), ':')
	t.more = append(t.more, value...)
}
