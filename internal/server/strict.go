package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/weirhq/weir/api"
)

const (
	// maxDepth limits the nesting of a JSON body.
	maxDepth = 1000
	// maxWhole is up to where all programs agree on whole numbers.
	maxWhole = 1 << 53
)

// checkJSON refuses what other parsers would repair or read in their own way:
// duplicate members, broken UTF-8, numbers that do not fit, anything but one
// object. It returns the body without a byte-order mark.
func checkJSON(raw []byte) ([]byte, *problem) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, newProblem("bad_json", "the body is empty", "send a JSON object")
	}
	if p := checkText(raw); p != nil {
		return nil, p
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if k := dec.PeekKind(); k != '{' && k != 0 {
		return nil, newProblem("bad_json", "the body is "+kindName(k)+", not a JSON object", "send {…}")
	}
	nul := bytes.Contains(raw, []byte(`\u0000`))
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) && dec.StackDepth() == 0 {
			return raw, nil
		}
		if err != nil {
			return nil, jsonProblem(dec, raw, err)
		}
		if dec.StackDepth() > maxDepth {
			return nil, newProblem("too_deep", fmt.Sprintf("it is nested more than %d deep at byte %d", maxDepth,
				dec.InputOffset()), "flatten it")
		}
		if p := checkToken(dec, tok, nul); p != nil {
			return nil, p
		}
		if dec.StackDepth() == 0 && len(bytes.TrimSpace(raw[dec.InputOffset():])) > 0 {
			return nil, newProblem("bad_json", fmt.Sprintf("there is more after the JSON object, at byte %d", dec.InputOffset()),
				"send one JSON object")
		}
	}
}

// checkText refuses what is not text in UTF-8.
func checkText(raw []byte) *problem {
	if len(raw) > 1 && (raw[0] == 0xff && raw[1] == 0xfe || raw[0] == 0xfe && raw[1] == 0xff || raw[0] == 0 || raw[1] == 0) {
		return newProblem("bad_encoding", "the body is UTF-16 or UTF-32, from byte 0", "send UTF-8")
	}
	for at := 0; at < len(raw); {
		r, n := utf8.DecodeRune(raw[at:])
		switch {
		case r == utf8.RuneError && n == 1:
			return newProblem("bad_encoding", fmt.Sprintf("byte %d is not UTF-8", at), "send UTF-8")
		case r == 0:
			return newProblem("bad_encoding", fmt.Sprintf("byte %d is NUL", at), "leave it out")
		}
		at += n
	}
	return nil
}

func kindName(k jsontext.Kind) string {
	name, ok := map[jsontext.Kind]string{jsontext.KindBeginArray: "an array", jsontext.KindString: "a text",
		jsontext.KindNumber: "a number"}[k]
	if !ok {
		return k.String()
	}
	return name
}

// checkToken looks at one name or value. Documents of users are theirs: only what no program reads alike is refused there.
func checkToken(dec *jsontext.Decoder, tok jsontext.Token, nul bool) *problem {
	switch {
	case tok.Kind() == '0':
		text := tok.String()
		if len(text) < 16 && !strings.ContainsAny(text, "eE") {
			return nil
		}
		return checkNumber(dec, text)
	case nul && tok.Kind() == '"' && strings.IndexByte(tok.String(), 0) >= 0 && !isUsers(dec.StackPointer()):
		p := newProblem("bad_encoding", fmt.Sprintf("%s has a NUL before byte %d", fieldOf(dec.StackPointer()),
			dec.InputOffset()), "leave it out")
		return p.at(dec.StackPointer(), tok.String())
	case tok.Kind() == '"' && isEarly(tok.String()) && isTime(dec.StackPointer()):
		p := newProblem("bad_time", fmt.Sprintf("%s: %s is before 1970", fieldOf(dec.StackPointer()), shorten(tok.String())),
			"name a later time, or leave the field out")
		return p.at(dec.StackPointer(), tok.String())
	}
	return nil
}

// isEarly reports whether a text begins with a date before 1970. Among those is
// the zero time of Go, which would count as a field that is not there.
func isEarly(text string) bool {
	if len(text) < len(time.DateOnly) || text[4] != '-' || text[:4] >= "1970" { // most texts
		return false
	}
	_, err := time.Parse(time.DateOnly, text[:len(time.DateOnly)])
	return err == nil
}

// times are the fields and the parameters of requests that are times.
var times = []string{"at", "created_after", "created_before", "deadline", "expires_at", "from", "since", "start_at", "to", "until"}

// isTime reports whether a field of a body is a time: by its name, at the top or in the bulk action of a schedule.
func isTime(p jsontext.Pointer) bool {
	return slices.Contains(times, p.LastToken()) && (p.Parent() == "" || p.Parent() == "/bulk_action")
}

func checkNumber(dec *jsontext.Decoder, text string) *problem {
	where := dec.StackPointer()
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		p := newProblem("bad_number", fmt.Sprintf("%s: %s is beyond all numbers", fieldOf(where), shorten(text)),
			"write a number below 1e308")
		return p.at(where, text)
	case math.Abs(v) >= maxWhole && v == math.Trunc(v) && !isUsers(where):
		p := newProblem("bad_number",
			fmt.Sprintf("%s: %s is 2^53 or more, from where on programs do not agree on whole numbers", fieldOf(where),
				shorten(text)), "write a smaller one")
		return p.at(where, text)
	}
	return nil
}

// isUsers reports whether something is inside a document that is the user's own.
func isUsers(p jsontext.Pointer) bool {
	return strings.HasPrefix(string(p), "/params/") || strings.HasPrefix(string(p), "/items/") && strings.Contains(string(p), "/data")
}

// at says which field a problem is about.
func (p *problem) at(where jsontext.Pointer, value string) *problem {
	field := fieldOf(where)
	p.Errors = []api.Fault{{Code: p.Code, Field: field, Value: shownValue(field, value), Message: p.Detail, Fix: p.Fix}}
	return p
}

func jsonProblem(dec *jsontext.Decoder, raw []byte, err error) *problem {
	at, where := dec.InputOffset(), dec.StackPointer()
	var bad *jsontext.SyntacticError
	if errors.As(err, &bad) {
		at, where = bad.ByteOffset, bad.JSONPointer
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return newProblem("duplicate_field", fmt.Sprintf("%s appears twice, at byte %d", fieldOf(where), at),
			"leave one of them out").at(where, "")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return newProblem("bad_json", fmt.Sprintf("it ends at byte %d inside %s", len(raw), fieldOf(where)), "send all of it")
	case dec.StackDepth() >= 10_000 || bad == nil:
		return newProblem("too_deep", fmt.Sprintf("it is nested too deep at byte %d", at), "flatten it")
	}
	return newProblem("bad_json", fmt.Sprintf("byte %d, inside %s: %s", at, fieldOf(where), bad.Err), "send valid JSON")
}

// fieldOf writes a place as people do: items[3].data.
func fieldOf(p jsontext.Pointer) string {
	var b strings.Builder
	for name := range p.Tokens() {
		if _, err := strconv.ParseUint(name, 10, 32); err == nil {
			b.WriteString("[" + name + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(shorten(name))
		if b.Len() > 256 {
			b.WriteString("…")
			break
		}
	}
	if b.Len() == 0 {
		return "the object"
	}
	return b.String()
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
