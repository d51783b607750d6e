package feed

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weirhq/weir"
)

// item returns the item of a JSON document; member names its id. The document is passed on byte
// for byte.
func item(doc []byte, member string) (weir.RawItem, *PermanentError) {
	if bad := checkDocument(doc); bad != nil {
		return weir.RawItem{}, bad
	}
	id, bad := idOf(doc, member)
	if bad == nil {
		bad = checkID(id, member)
	}
	return weir.RawItem{ID: id, Value: doc}, bad
}

// checkDocument requires one JSON object that is not too large.
func checkDocument(doc []byte) *PermanentError {
	switch v := jsontext.Value(doc); {
	case len(doc) > weir.MaxItemBytes:
		return permanent(CodeItemTooLarge, fmt.Sprintf("the item has %d bytes, at most %d are allowed", len(doc), weir.MaxItemBytes),
			"keep large content elsewhere and put a reference to it in the item", nil)
	case !utf8.Valid(doc):
		return permanent(CodeBadEncoding, "the item is not UTF-8", "send UTF-8", nil)
	case !v.IsValid():
		return diagnose(doc)
	case v.Kind() != jsontext.KindBeginObject:
		return permanent(CodeBadItem, "the item is not a JSON object: "+excerpt(doc), "send one JSON object per item", nil)
	}
	return nil
}

// diagnose finds out why doc is not valid.
func diagnose(doc []byte) *PermanentError {
	_, err := jsontext.NewDecoder(bytes.NewReader(doc)).ReadValue()
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		return permanent(CodeDuplicateKey, fmt.Sprintf("the member %q appears twice", syn.JSONPointer.LastToken()), "keep one of the two", nil)
	}
	return permanent(CodeBadItem, "the item is not valid JSON: "+excerpt(doc), "send one JSON object per item", nil)
}

// idOf returns the id in a member of a valid object: text, or a whole number as written.
func idOf(doc []byte, name string) (string, *PermanentError) {
	value := memberOf(doc, name)
	switch value.Kind() {
	case jsontext.KindString:
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			panic("feed: unquote of a checked string: " + err.Error())
		}
		return string(text), nil
	case jsontext.KindNumber:
		if !bytes.ContainsAny(value, ".eE") {
			return string(value), nil
		}
	case jsontext.KindInvalid, jsontext.KindNull:
		return "", missingID(name)
	default:
	}
	return "", permanent(CodeBadID, fmt.Sprintf("the id %q is neither text nor a whole number: %s", name, excerpt(value)),
		"send the id as a string", nil)
}

// memberOf returns a member of a valid object by name; the value has length 0 if it is missing.
func memberOf(doc []byte, name string) jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewBuffer(doc))
	for _, err := d.ReadToken(); err == nil && d.PeekKind() == jsontext.KindString; err = d.SkipValue() {
		if t, _ := d.ReadToken(); t.String() == name {
			v, _ := d.ReadValue() // doc was checked
			return v
		}
	}
	return nil
}

// checkID refuses ids that the engine would refuse.
func checkID(id, name string) *PermanentError {
	switch {
	case strings.TrimSpace(id) == "":
		return missingID(name)
	case len(id) > weir.MaxIDBytes:
		return permanent(CodeIDTooLong, fmt.Sprintf("the id %q has %d bytes, at most %d are allowed", name, len(id),
			weir.MaxIDBytes), "use a shorter id", nil)
	case !utf8.ValidString(id) || strings.ContainsRune(id, 0):
		return permanent(CodeBadID, fmt.Sprintf("the id %q is not text: %s", name, excerpt([]byte(id))), "use UTF-8 without zero bytes", nil)
	}
	return nil
}

func missingID(name string) *PermanentError {
	return permanent(CodeMissingID, fmt.Sprintf("the id %q is missing", name), "give every item an id, or name the right member", nil)
}

// maxExcerpt bounds how much foreign text an error repeats, in bytes.
const maxExcerpt = 120

// excerpt returns the beginning of foreign text, without control characters.
func excerpt(b []byte) string {
	cut := b[:min(len(b), maxExcerpt)]
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(cut), "\uFFFD"))
	if len(cut) < len(b) {
		text += "…"
	}
	return text
}
