package server

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// sealCursor makes a cursor of a place in a list. It carries a mark of the list
// and its filters: one of another list is recognised.
func sealCursor(place string, list ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorMark(list) + place))
}

// openCursor is the inverse of sealCursor; an empty cursor is the beginning.
func openCursor(cursor string, list ...string) (place string, err error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	mark := cursorMark(list)
	if err != nil || !strings.HasPrefix(string(raw), mark) {
		return "", newProblem("bad_cursor", "the cursor is not one of this list with these filters", "begin without a cursor, and use next_cursor as it is")
	}
	return string(raw[len(mark):]), nil
}

func cursorMark(list []string) string {
	sum := sha256.Sum256([]byte(strings.Join(list, "\x00")))
	return string(sum[:6])
}
