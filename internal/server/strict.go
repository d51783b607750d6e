package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep a JSON body may be nested.
const maxDepth = 1000

// checkJSON refuses what other parsers would repair or read in their own way:
// duplicate members, broken UTF-8, anything but one object. It returns the body
// without a byte-order mark.
func checkJSON(raw []byte) ([]byte, *problem) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, newProblem("bad_json", "the body is empty", "send a JSON object")
	}
	if len(raw) > 1 && (raw[0] == 0xff && raw[1] == 0xfe || raw[0] == 0xfe && raw[1] == 0xff || raw[0] == 0 || raw[1] == 0) {
		return nil, newProblem("bad_encoding", "the body is UTF-16 or UTF-32, from byte 0", "send UTF-8")
	}
	if at := badUTF8(raw); at >= 0 {
		return nil, newProblem("bad_encoding", fmt.Sprintf("byte %d is not UTF-8", at), "send UTF-8")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if k := dec.PeekKind(); k != '{' && k != 0 {
		return nil, newProblem("bad_json", "the body is not a JSON object", "send {…}")
	}
	for {
		_, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return raw, nil
		}
		if err != nil {
			return nil, jsonProblem(dec, raw, err)
		}
		if dec.StackDepth() > maxDepth {
			return nil, newProblem("too_deep", fmt.Sprintf("it is nested more than %d deep at byte %d", maxDepth, dec.InputOffset()), "flatten it")
		}
		if dec.StackDepth() == 0 && len(bytes.TrimSpace(raw[dec.InputOffset():])) > 0 {
			return nil, newProblem("bad_json", fmt.Sprintf("there is more after the JSON object, at byte %d", dec.InputOffset()), "send one JSON object")
		}
	}
}

func badUTF8(raw []byte) int {
	for at := 0; at < len(raw); {
		r, n := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

func jsonProblem(dec *jsontext.Decoder, raw []byte, err error) *problem {
	at := dec.InputOffset()
	var bad *jsontext.SyntacticError
	if errors.As(err, &bad) {
		at = bad.ByteOffset
	}
	where := string(dec.StackPointer())
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return newProblem("duplicate_field", fmt.Sprintf("%s is there twice, at byte %d", where, at), "leave one of them out")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return newProblem("bad_json", fmt.Sprintf("it ends at byte %d inside %s", len(raw), inside(where)), "send all of it")
	case bad != nil && dec.StackDepth() >= 10_000:
		return newProblem("too_deep", fmt.Sprintf("it is nested too deep at byte %d", at), "flatten it")
	}
	return newProblem("bad_json", fmt.Sprintf("byte %d, inside %s: %s", at, inside(where), bad.Err), "send valid JSON")
}

func inside(pointer string) string {
	if pointer == "" {
		return "the object"
	}
	return pointer
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
