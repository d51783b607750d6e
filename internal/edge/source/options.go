package source

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/weirhq/weir"
)

// Format is the layout of items in a file.
type Format string

// The formats. Auto takes the format from the file's name, or else from its first byte.
const (
	Auto   Format = ""
	CSV    Format = "csv"
	NDJSON Format = "ndjson"
	JSON   Format = "json" // one array of objects, or objects one after the other
)

// Options overrides what [Open] would detect. The zero value detects everything.
type Options struct {
	// Format is Auto by default.
	Format Format
	// Delimiter separates CSV cells: one ASCII character. Default: the one of , ; tab | that
	// cuts the first lines into rows of equal width.
	Delimiter rune
	// Encoding names the text encoding. Default: by byte order mark (UTF-8, UTF-16), else UTF-8, and
	// for CSV that is not UTF-8 windows-1252.
	Encoding string
	// IDColumn names the CSV column or JSON member that holds the id. Default: the first of
	// [IDNames] that exists. If none does, the file is refused.
	IDColumn string
	// AnyID takes the first column of a CSV file without a column of such a name, to show the columns to choose from.
	AnyID bool
	// Columns names the columns of a CSV file that has no header line. Default: the first line.
	Columns []string
	// Names are names for columns: a CSV file has to have these. What [Reader.Items] yields is not renamed.
	Names Names
	// KeepRows adds the row itself to a [RowError].
	KeepRows bool
	// Limit ends the stream after so many good items. Default 0: no limit.
	Limit int
	// MaxItem is the size limit of one item's document, in bytes. Default 256 KiB, at least 64.
	MaxItem int
	// MaxID is the size limit of an id, in bytes. Default 256.
	MaxID int
}

func (o Options) withDefaults() Options {
	o.MaxItem = cmp.Or(o.MaxItem, weir.MaxItemBytes)
	o.MaxID = cmp.Or(o.MaxID, weir.MaxIDBytes)
	return o
}

func (o Options) validate() error {
	switch o.Format {
	case Auto, CSV, NDJSON, JSON:
	default:
		return optionError("format", string(o.Format), "is not a known format", "use csv, ndjson or json, or leave it out")
	}
	if d := o.Delimiter; d != 0 && (d < ' ' && d != '\t' || d > '~' || d == '"') {
		return optionError("delimiter", string(d), "cannot separate cells", "use one of , ; | or a tab")
	}
	if o.MaxItem < 64 {
		return optionError("max item", fmt.Sprint(o.MaxItem), "is too small for any item", "use at least 64 bytes")
	}
	if o.MaxID < 1 || o.Limit < 0 {
		return optionError("limit", fmt.Sprint(min(o.MaxID, o.Limit)), "is negative", "leave it out for the default")
	}
	if _, ok := encodingNamed(o.Encoding); o.Encoding != "" && !ok {
		return optionError("encoding", o.Encoding, "is not a known encoding", "use one of "+strings.Join(encodingNames(), ", "))
	}
	return nil
}

func optionError(field, value, problem, fix string) error {
	return &InputError{Code: "bad_option", Problem: fmt.Sprintf("%s %q %s", field, value, problem), Fix: fix}
}
