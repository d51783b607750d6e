package report

import (
	"bytes"
	"unicode/utf8"
)

// appendRow appends cells as one line of CSV.
func appendRow(dst []byte, cells [][]byte, guard bool) []byte {
	for i, c := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCell(dst, c, guard)
	}
	return append(dst, '\n')
}

// appendCell appends value as a CSV cell by RFC 4180. With guard, a value that a spreadsheet
// would evaluate as a formula gets a leading apostrophe.
func appendCell(dst, value []byte, guard bool) []byte {
	formula := guard && isFormula(value)
	if !needsQuotes(value) {
		if formula {
			dst = append(dst, '\'')
		}
		return append(dst, value...)
	}
	dst = append(dst, '"')
	if formula {
		dst = append(dst, '\'')
	}
	for {
		i := bytes.IndexByte(value, '"')
		if i < 0 {
			break
		}
		dst = append(append(dst, value[:i+1]...), '"')
		value = value[i+1:]
	}
	return append(append(dst, value...), '"')
}

func needsQuotes(value []byte) bool {
	for i, c := range value {
		if c == ',' || c == '"' || c == '\n' || c == '\r' || i == 0 && (c == ' ' || c == '\t') {
			return true
		}
	}
	return string(value) == `\.` // ends the data for some databases
}

// isFormula reports whether a spreadsheet may evaluate value: it starts with = + - @, a control
// character, or a full-width form of the four. A plain negative number does not count.
func isFormula(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	switch value[0] {
	case '=', '+', '@', '\t', '\r', '\n', 0:
		return true
	case '-':
		return !isNumber(value[1:])
	}
	if value[0] < utf8.RuneSelf {
		return false
	}
	switch r, _ := utf8.DecodeRune(value); r {
	case '＝', '＋', '－', '＠':
		return true
	}
	return false
}

// isNumber reports whether s consists of digits with at most one point between them.
func isNumber(s []byte) bool {
	point := false
	for i, c := range s {
		if c == '.' && !point && i > 0 && i < len(s)-1 {
			point = true
			continue
		}
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) > 0
}
