package mapping

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient leaves duplicate names to the code that accepted the document: the last one counts.
var lenient = jsontext.AllowDuplicateNames(true)

func reader(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), lenient)
}

// value returns a document as expressions see it; an empty text is null.
func value(raw []byte) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := reader(raw)
	v, err := read(d)
	if err == nil {
		err = over(d, raw)
	}
	return v, err
}

// over checks that nothing follows a document.
func over(d *jsontext.Decoder, raw []byte) error {
	if len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		return errNotJSON
	}
	return nil
}

// part returns the value of a piece that was already read as a whole; most are simple.
func part(raw []byte) (any, error) {
	switch jsontext.Value(raw).Kind() {
	case jsontext.KindString:
		s, err := jsontext.AppendUnquote(nil, raw)
		return string(s), err
	case jsontext.KindNumber:
		return number(string(raw)), nil
	default:
		return value(raw)
	}
}

// read decodes the next value. The decoder bounds the depth.
func read(d *jsontext.Decoder) (any, error) {
	tok, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case jsontext.KindBeginObject:
		return readObject(d)
	case jsontext.KindBeginArray:
		return readArray(d)
	case jsontext.KindString:
		return tok.String(), nil
	case jsontext.KindNumber:
		return number(tok.String()), nil
	case jsontext.KindTrue, jsontext.KindFalse:
		return tok.Bool(), nil
	case jsontext.KindNull, jsontext.KindEndObject, jsontext.KindEndArray, jsontext.KindInvalid:
	}
	return nil, nil // the callers read ends themselves
}

func readObject(d *jsontext.Decoder) (any, error) {
	out := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if out[key], err = read(d); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return out, err
}

func readArray(d *jsontext.Decoder) (any, error) {
	out := []any{}
	for d.PeekKind() != ']' {
		v, err := read(d)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := d.ReadToken()
	return out, err
}

// members calls f for each member of an object; f reads the value, or reports that it did not.
func members(raw []byte, f func(d *jsontext.Decoder, name string) (bool, error)) error {
	d := reader(raw)
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		took, err := f(d, name.String())
		if err == nil && !took {
			err = d.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	return over(d, raw)
}
