package mapping

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// document is one JSON text with the wanted members, found in one pass and not decoded.
type document struct {
	raw    []byte
	object bool
	want   []string
	found  [][]byte // by want; nil: missing
}

var errNotJSON = errors.New("the document is not valid JSON")

// open finds the wanted members.
func open(raw []byte, want []string) (document, error) {
	d := document{raw: raw, want: want, object: len(raw) > 0 && jsontext.Value(raw).Kind() == '{'}
	if !d.object || len(want) == 0 {
		return d, nil
	}
	d.found = make([][]byte, len(want))
	err := members(raw, func(dec *jsontext.Decoder, name string) (bool, error) {
		for i, w := range want {
			if w != name {
				continue
			}
			v, err := dec.ReadValue()
			end := int(dec.InputOffset())
			d.found[i] = raw[end-len(v) : end] // v itself is valid only until the next read
			return true, err
		}
		return false, nil
	})
	if err != nil {
		return d, errNotJSON
	}
	return d, nil
}

// part decodes some of the wanted members. A document that is not an object is decoded whole,
// so that expressions fail on it as they should.
func (d document) part(names map[string]bool) (any, error) {
	if !d.object {
		return value(d.raw)
	}
	out := make(map[string]any, len(names))
	for i, w := range d.want {
		if !names[w] || d.found[i] == nil {
			continue
		}
		v, err := part(d.found[i])
		if err != nil {
			return nil, errNotJSON
		}
		out[w] = v
	}
	return out, nil
}

// at follows a path and returns the bytes at its end, null if it leads nowhere.
func (d document) at(keys []key) ([]byte, error) {
	if len(keys) == 0 {
		return d.raw, nil
	}
	raw := d.raw
	for i, k := range keys {
		switch {
		case isNull(raw) && k.optional:
			return nil, nil
		case isNull(raw):
			return nil, fmt.Errorf("cannot fetch %s from <nil>", k.name)
		case jsontext.Value(raw).Kind() != '{':
			return nil, fmt.Errorf("cannot fetch %s of what is not an object", k.name)
		}
		var err error
		if raw, err = d.member(raw, i, k.name); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// member returns the raw member of an object at some level of the document.
func (d document) member(raw []byte, level int, name string) ([]byte, error) {
	if level == 0 {
		for i, w := range d.want {
			if w == name {
				return d.found[i], nil
			}
		}
	}
	below, err := open(raw, []string{name})
	if err != nil {
		return nil, err
	}
	return below.found[0], nil
}

func isNull(raw []byte) bool { return len(raw) == 0 || jsontext.Value(raw).Kind() == 'n' }
