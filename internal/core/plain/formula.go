package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Formula reports whether a spreadsheet may evaluate a cell: it begins, maybe after blanks, with = + - @, a control
// character, or a full-width form of the four. A plain negative number does not count.
func Formula[T string | []byte](cell T) bool {
	for i := 0; i < len(cell); {
		switch c := cell[i]; {
		case c == ' ':
			i++
			continue
		case c == '=', c == '+', c == '@', c == '\t', c == '\r', c == '\n', c == 0:
			return true
		case c == '-':
			return !number(cell[i+1:])
		case c < utf8.RuneSelf:
			return false
		}
		r, n := utf8.DecodeRuneInString(string(cell[i:min(len(cell), i+utf8.UTFMax)]))
		switch r {
		case '＝', '＋', '－', '＠':
			return true
		}
		if !Invisible(r) {
			return false
		}
		i += n
	}
	return false
}

// Invisible reports whether nothing is to be seen of a character: blanks, marks of direction, joiners and other
// characters that only format.
func Invisible(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// Blank reports whether a text has characters and nothing is to be seen of them: people could not see its name or link.
func Blank(text string) bool { return text != "" && strings.TrimFunc(text, Invisible) == "" }

// number reports whether s consists of digits with at most one point between them.
func number[T string | []byte](s T) bool {
	digits, points := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '.' && points == 0 && i > 0 && i < len(s)-1:
			points++
		default:
			return false
		}
	}
	return digits > 0
}
