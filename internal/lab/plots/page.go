package main

import (
	"fmt"
	"strings"
)

// withTables returns the text of docs/plots.md with the tables of figures in their places.
func withTables(page string, figures []figure) (string, error) {
	for i := range figures {
		f := &figures[i]
		begin, end := "<!-- values of "+f.name+" -->\n", "<!-- end of values -->"
		before, after, ok := strings.Cut(page, begin)
		_, after, closed := strings.Cut(after, end)
		if !ok || !closed {
			return "", fmt.Errorf("docs/plots.md has no place for the values of %s: add %q and %q", f.name, begin, end)
		}
		page = before + begin + f.markdown() + end + after
	}
	return page, nil
}

// markdown returns the table of a figure, closed at first as those of the pages are.
func (f *figure) markdown() string {
	var b strings.Builder
	b.WriteString("<details><summary>Show as table</summary>\n\n")
	for i, row := range f.table {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|--:", len(row)-1) + "|\n")
		}
	}
	b.WriteString("\n</details>\n")
	return b.String()
}
