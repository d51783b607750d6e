package report

import (
	"bytes"

	"github.com/weirhq/weir/internal/core/plain"
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
	formula := guard && plain.Formula(value)
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
