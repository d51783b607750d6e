package term

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table aligns columns. Nothing is written before [Table.Print]: the widths are known only then.
type Table struct {
	text strings.Builder
	tabs *tabwriter.Writer
}

// NewTable returns a table with a first row. Tabs are between its cells.
func NewTable(head string) *Table {
	t := &Table{}
	t.tabs = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	t.Row("%s", head)
	return t
}

// Row adds a row. Tabs are between its cells.
func (t *Table) Row(format string, args ...any) { fmt.Fprintf(t.tabs, format+"\n", args...) }

// Print writes the rows, without spaces at their ends.
func (t *Table) Print(w io.Writer) error {
	_ = t.tabs.Flush() // a builder takes everything
	for line := range strings.Lines(t.text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
