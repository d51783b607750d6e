package near

import (
	"slices"
	"strings"
	"unicode"
)

// Alike returns the known word that differs from word at most in case, spaces and punctuation, as E-Mail does from email,
// or an empty string if no word or several do. A word that is known itself is returned.
func Alike(word string, known []string) (found string) {
	if slices.Contains(known, word) {
		return word
	}
	want := bare(word)
	for _, k := range known {
		if want == "" || bare(k) != want {
			continue
		}
		if found != "" {
			return "" // either may be meant
		}
		found = k
	}
	return found
}

// bare returns the letters and digits of a word, in lower case.
func bare(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, word)
}
