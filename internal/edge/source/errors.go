package source

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Codes of a [RowError].
const (
	CodeBadCSV       = "bad_csv"        // quotes or width of a row, or the header line
	CodeBadLine      = "bad_line"       // not one JSON object
	CodeDuplicateKey = "duplicate_key"  // a JSON object has a member twice
	CodeBadEncoding  = "bad_encoding"   // bytes that are not text in the file's encoding
	CodeMissingID    = "missing_id"     // no id, or an empty one
	CodeBadID        = "bad_id"         // an id that is neither text nor a whole number
	CodeIDTooLong    = "id_too_long"    // more than Options.MaxID bytes
	CodeItemTooLarge = "item_too_large" // more than Options.MaxItem bytes
)

// RowError describes what is wrong with one row, where, and how to fix it. Reading can continue
// after it.
type RowError struct {
	Line    int    // line in the file, from 1, after decompression
	Column  int    // byte in the line, from 1; 0 for the whole row
	Code    string // one of the codes above
	Field   string // column or member concerned, if any
	Value   string // what was found there, shortened
	Problem string
	Fix     string
	// Corrects is as in [Item].
	Corrects string
	// Cells holds the row as it is in the file, with [Options.KeepRows]: its cells or, if it is JSON or cannot be
	// split, its text. Nil if it is too large to hold.
	Cells []string
}

// Error returns place, problem and fix in one line.
func (e *RowError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "line %d", e.Line)
	if e.Column > 0 {
		fmt.Fprintf(&b, ", column %d", e.Column)
	}
	fmt.Fprintf(&b, ": %s", e.Problem)
	if e.Fix != "" {
		fmt.Fprintf(&b, "; %s", e.Fix)
	}
	return b.String()
}

// Codes of an [InputError], besides those of a RowError.
const (
	CodeUnreadable = "unreadable"       // the operating system refused
	CodeCutShort   = "cut_short"        // a compressed file ends too early
	CodeCorrupt    = "corrupt"          // compressed data that does not decompress
	CodeWindow     = "window_too_large" // zstd data that needs more memory than allowed
	CodeNotText    = "not_text"         // a spreadsheet, an archive or another binary file
	CodeBadJSON    = "bad_json"         // a JSON file whose elements cannot be separated, or that ends too early
)

// InputError describes why a file cannot be read, or not any further.
type InputError struct {
	Name    string // the file, as given to Open
	Line    int    // 0 when unknown
	Column  int
	Code    string
	Problem string
	Fix     string
	Err     error // the cause, if any
}

// Error returns file, place, problem, cause and fix in one line.
func (e *InputError) Error() string {
	var b strings.Builder
	if e.Name != "" {
		fmt.Fprintf(&b, "%s: ", e.Name)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	b.WriteString(e.Problem)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Fix != "" {
		fmt.Fprintf(&b, "; %s", e.Fix)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// shortValue is the length of the longest value that an error repeats, in bytes.
const shortValue = 60

// shorten shortens a value of any size for display.
func shorten[T string | []byte](v T) string {
	if len(v) <= shortValue {
		return strings.ToValidUTF8(string(v), "\uFFFD")
	}
	cut := shortValue
	for cut > shortValue-utf8.UTFMax && !utf8.RuneStart(v[cut]) {
		cut--
	}
	return strings.ToValidUTF8(string(v[:cut]), "\uFFFD") + "…"
}
