package mapping

import (
	"strconv"
	"strings"
)

// exact is a number of a document that neither int nor float64 holds exactly. It passes through
// expressions unchanged; arithmetic refuses it.
type exact string

// number returns the value of a JSON number.
func number(text string) any {
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return int(n)
		}
		return exact(text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || digits(text) != digits(strconv.FormatFloat(f, 'e', -1, 64)) {
		return exact(text)
	}
	return f
}

// digits returns the significant digits of a number.
func digits(text string) string {
	text = strings.TrimPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		text = text[:i]
	}
	whole, part, _ := strings.Cut(text, ".")
	return strings.TrimRight(strings.TrimLeft(whole+part, "0"), "0")
}
