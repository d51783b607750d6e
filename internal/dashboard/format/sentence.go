package format

import (
	"strings"
	"unicode/utf8"
)

// Stop ends a text with a full stop, unless it has an end of its own. A text from elsewhere, such as a reason, a message or
// a name, may be a whole sentence: no full stop is written after one but by Stop.
func Stop(text string) string {
	text = strings.TrimRight(text, " ")
	if last, _ := utf8.DecodeLastRuneInString(text); text == "" || strings.ContainsRune(".?!…", last) {
		return text
	}
	return text + "."
}

// Clause returns a text without its full stop, for the middle of a sentence.
func Clause(text string) string { return strings.TrimRight(text, ". ") }
