package server

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// sealCursor makes a cursor of a place in a list. It carries a mark of the place,
// the list and its filters: one of another list, or a changed one, is recognised.
func sealCursor(place string, list ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorMark(place, list) + place))
}

// markLen is the length of a mark in bytes.
const markLen = 6

// openCursor is the inverse of sealCursor; an empty cursor is the beginning.
func openCursor(cursor string, list ...string) (place string, err error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < markLen || string(raw[:markLen]) != cursorMark(string(raw[markLen:]), list) {
		return "", newProblem("bad_cursor", "the cursor is not one of this list with these filters",
			"begin without a cursor, and use next_cursor as it is")
	}
	return string(raw[markLen:]), nil
}

func cursorMark(place string, list []string) string {
	sum := sha256.Sum256([]byte(strings.Join(append(list[:len(list):len(list)], place), "\x00")))
	return string(sum[:markLen])
}
