package partition

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// People look for a bulk action by what its name has: by a word, its beginning, or a number. So each word of a name has
// terms for some of its beginnings, and a search looks up the longest of these that each of its words has. What is
// found is compared with the name that its row has, as a word of the search may be longer than the longest term.

// beginnings are how many characters of a word its terms have.
var beginnings = [...]int{1, 2, 3, 5, 8}

// Words cuts a name into its words, in lower case: what is between characters that are neither letters nor digits.
// Scripts that do not part words have a word for each character.
func Words(name string) (words []string) {
	begin := -1
	end := func(i int) {
		if begin >= 0 {
			words = append(words, strings.ToLower(name[begin:i]))
		}
		begin = -1
	}
	for i, c := range name {
		switch {
		case unparted(c):
			end(i)
			words = append(words, string(c))
		case !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c):
			end(i)
		case begin < 0:
			begin = i
		}
	}
	end(len(name))
	return words
}

// unparted reports whether a character is a word of its own.
func unparted(c rune) bool {
	return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Search finds bulk actions by their names.
type Search struct {
	text  string
	words []string
}

// NewSearch returns the search for what a person types. A name matches if each word of the text is how a word of the
// name begins; of a text without words, if the text is a part of it.
func NewSearch(text string) Search { return Search{text, Words(text)} }

// Match reports whether a name matches.
func (s *Search) Match(name string) bool {
	if len(s.words) == 0 {
		return strings.Contains(name, s.text)
	}
	has := Words(name)
	for _, w := range s.words {
		if !slices.ContainsFunc(has, func(h string) bool { return strings.HasPrefix(h, w) }) {
			return false
		}
	}
	return true
}

// Terms returns terms that bulk actions have whose names match. Others may have them, too: see [Search.Match].
func (s *Search) Terms() (list []Term) {
	for _, w := range s.words {
		if all := wordBeginnings(w); len(all) > 0 {
			list = append(list, wordTerm(all[len(all)-1]))
		}
	}
	return list
}

func wordTerm(beginning string) Term { return term("name", beginning) }

// wordBeginnings returns the beginnings of a word that have a term, the longest last.
func wordBeginnings(word string) (list []string) {
	if c, size := utf8.DecodeRuneInString(word); size == len(word) && unparted(c) {
		return []string{word}
	}
	at, n := 0, 0
	for i := range word {
		if n == beginnings[at] {
			list = append(list, word[:i])
			if at++; at == len(beginnings) {
				return list
			}
		}
		n++
	}
	if n == beginnings[at] {
		list = append(list, word)
	}
	return list
}

// nameTerms returns the terms that a bulk action is found by in a search for its name.
func nameTerms(name string) (list []Term) {
	seen := map[string]bool{}
	for _, w := range Words(name) {
		for _, b := range wordBeginnings(w) {
			if !seen[b] {
				seen[b] = true
				list = append(list, wordTerm(b))
			}
		}
	}
	return list
}
