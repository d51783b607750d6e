package source

import (
	"encoding/csv"
	"fmt"
	"io"

	"golang.org/x/text/encoding"
)

// List writes rows of a file as CSV, for a person who corrects them in the program that has written the file: with the
// delimiter, the encoding and the byte order mark of the file. Cells that a spreadsheet would evaluate are guarded, see
// [Guarded].
type List struct {
	rows *csv.Writer
	text io.Writer
	end  func() error
}

// NewList begins a list of rows of a file. The list of a file that is not CSV is CSV with commas in UTF-8.
func NewList(to io.Writer, of Detected) (*List, error) {
	l := &List{text: to, end: func() error { return nil }}
	delimiter := ','
	if of.Format == CSV {
		delimiter = of.Delimiter
		if enc, _ := encodingNamed(of.Encoding); enc != nil {
			w := encoding.ReplaceUnsupported(enc.NewEncoder()).Writer(to)
			l.text = w
			if c, ok := w.(io.Closer); ok {
				l.end = c.Close
			}
		}
		if of.Marked {
			if _, err := io.WriteString(l.text, "\uFEFF"); err != nil {
				return nil, err
			}
		}
		if of.Declared {
			if _, err := fmt.Fprintf(l.text, "sep=%c\r\n", delimiter); err != nil {
				return nil, err
			}
		}
	}
	l.rows = csv.NewWriter(l.text)
	l.rows.Comma = delimiter
	return l, nil
}

// Write writes one row.
func (l *List) Write(cells []string) error {
	guarded := make([]string, len(cells))
	for i, c := range cells {
		guarded[i] = Guarded(c)
	}
	return l.rows.Write(guarded)
}

// Close writes what is still in memory.
func (l *List) Close() error {
	if l.rows.Flush(); l.rows.Error() != nil {
		return l.rows.Error()
	}
	return l.end()
}
