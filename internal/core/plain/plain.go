// Package plain tells which characters a text must not have, because they give orders to a terminal or make a page
// show something else than it says.
package plain

import (
	"strings"
	"unicode/utf8"
)

// Refused reports whether a name must not have a character: a control character, one that changes the direction of
// the text around it, or the replacement of what is not UTF-8.
func Refused(r rune) bool { return Control(r) || r == utf8.RuneError }

// Control reports whether a character is a control character (C0, DEL or C1), or an embedding, override or isolate of
// the direction of text.
func Control(r rune) bool {
	return r < ' ' || 0x7f <= r && r <= 0x9f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// Clean returns a foreign text that is safe to show: with a space for each tab and line break, and with U+FFFD for each
// other control character and for what is not UTF-8.
func Clean(text string) string {
	if strings.IndexFunc(text, Refused) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case Control(r):
			return utf8.RuneError
		}
		return r
	}, text)
}
