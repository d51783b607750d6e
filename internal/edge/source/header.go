package source

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/weirhq/weir/internal/core/plain"
)

// newCSVRows reads the header line and settles delimiter, columns and id column.
func newCSVRows(w *buffer, o Options, name string, transcoded bool) (*csvRows, error) {
	c := &csvRows{w: w, opts: o, delim: byte(o.Delimiter), transcoded: transcoded, note: -1}
	detected := c.declared()
	c.declares = detected != 0
	if detected == 0 {
		detected = detectDelimiter(name, w.unread())
	}
	if c.delim == 0 {
		c.delim = detected
	}
	if err := c.header(); err != nil {
		return nil, err
	}
	if len(c.columns) == 1 && detected != c.delim && strings.IndexByte(c.columns[0], detected) >= 0 {
		return nil, headerError(c.columns[0], fmt.Sprintf("with the delimiter %q there is only one column", c.delim),
			fmt.Sprintf("the file looks %q-separated: set the delimiter to that", detected))
	}
	if err := c.checkColumns(); err != nil {
		return nil, err
	}
	if c.ofDocuments() {
		c.docs, c.idCol = &docs{opts: o, transcoded: transcoded}, slices.Index(c.columns, DocumentColumn)
		return c, c.label()
	}
	if err := c.chooseID(); err != nil {
		return nil, err
	}
	if err := c.checkNames(); err != nil {
		return nil, err
	}
	return c, c.label()
}

// ofDocuments reports whether the file is a list of bad rows of JSON.
func (c *csvRows) ofDocuments() bool {
	return slices.Contains(c.columns, NoteColumns[0]) && slices.Contains(c.columns, DocumentColumn) &&
		!slices.ContainsFunc(c.columns, func(name string) bool { return name != DocumentColumn && !slices.Contains(NoteColumns[:], name) })
}

// declared consumes the line sep=; by which spreadsheets declare the delimiter, and returns the
// delimiter, or 0 without such a line.
func (c *csvRows) declared() byte {
	line, n, err := c.w.nextLine(0)
	if err != nil {
		return 0 // reading the header reports the error
	}
	text := trimCR(line)
	if len(text) != len("sep=;") || !bytes.EqualFold(text[:4], []byte("sep=")) || strings.IndexByte(delimiters, text[4]) < 0 {
		return 0
	}
	delim := text[4]
	c.w.dropLine(n)
	return delim
}

// header takes the columns from the options or from the first line that is not blank.
func (c *csvRows) header() error {
	if len(c.opts.Columns) > 0 {
		c.columns = slices.Clone(c.opts.Columns)
		return nil
	}
	n, bad, err := c.record()
	if err == io.EOF {
		return headerError("", "the file is empty", "write a line with the column names first")
	}
	if err != nil {
		return err
	}
	if bad != nil {
		return bad
	}
	row := c.w.unread()[:n]
	for _, at := range c.cells {
		c.columns = append(c.columns, string(bytes.TrimSpace(c.value(row, at))))
	}
	c.w.drop(n)
	for len(c.columns) > 1 && c.columns[len(c.columns)-1] == "" {
		c.columns = c.columns[:len(c.columns)-1] // spreadsheets export emptied columns; see fit
	}
	return nil
}

// checkColumns refuses names that cannot become members of a JSON object.
func (c *csvRows) checkColumns() error {
	for i, name := range c.columns {
		switch {
		case name == "":
			return headerError("", fmt.Sprintf("column %d has no name", i+1), "name every column in the first line")
		case slices.Index(c.columns, name) < i:
			return headerError(name, fmt.Sprintf("columns %d and %d are both named %q", slices.Index(c.columns, name)+1, i+1, name),
				"give every column its own name")
		case strings.ContainsRune(name, '\r'):
			return headerError(name, "lines end with CR alone", "save the file with LF or CRLF line ends")
		case !utf8.ValidString(name) || c.transcoded && strings.ContainsRune(name, utf8.RuneError):
			return headerError(name, fmt.Sprintf("the name of column %d is not text in the file's encoding", i+1),
				"save the file as UTF-8, or name its encoding")
		}
	}
	return nil
}

// chooseID finds the id column, by option or by name. A first line without the name of an id,
// but with a cell that looks like a value, is not a header.
func (c *csvRows) chooseID() error {
	if want := c.opts.IDColumn; want != "" {
		c.idCol = slices.Index(c.columns, want)
		if c.idCol < 0 {
			e := headerError(want, fmt.Sprintf("no column %q", want), "choose one of "+shorten(strings.Join(c.columns, ", ")))
			e.Value = shorten(strings.Join(c.columns, ", "))
			return e
		}
		return nil
	}
	if c.idCol = detectID(c.columns); c.idCol >= 0 {
		return nil
	}
	if c.opts.AnyID {
		c.idCol = 0
		return nil
	}
	if i := slices.IndexFunc(c.columns, looksLikeData); i >= 0 && len(c.opts.Columns) == 0 {
		return headerError(c.columns[i], fmt.Sprintf("the first line looks like data, not like column names: %q", shorten(c.columns[i])),
			"write a line with the column names first, or name the columns and the id column")
	}
	return noID(1, CodeBadCSV, "column", c.columns)
}

// checkNames refuses a table that lacks a column that is read by another name.
func (c *csvRows) checkNames() error {
	for _, name := range slices.Sorted(maps.Keys(c.opts.Names)) {
		if column := c.opts.Names[name]; !slices.Contains(c.columns, column) {
			return headerError(column, fmt.Sprintf("no column %q, which is to be read as %q", column, name), "choose one of "+shorten(strings.Join(c.columns, ", ")))
		}
	}
	return nil
}

// label prepares the parts of every document that are the same.
func (c *csvRows) label() error {
	c.own = slices.Contains(c.columns, NoteColumns[0])
	head := []byte(`{"`)
	for i, name := range c.columns {
		if c.own && i != c.idCol && slices.Contains(NoteColumns[:], name) {
			if c.labels = append(c.labels, nil); name == NoteColumns[0] {
				c.note = i
			}
			continue
		}
		label, err := jsontext.AppendQuote(head[:len(head)-1], name)
		if err != nil {
			return headerError(name, "the column name cannot be written as JSON", "rename the column")
		}
		c.labels = append(c.labels, append(label, ':', '"'))
		head = []byte(`","`)
	}
	return nil
}

// NoteColumns are the columns that a list of bad rows has besides those of the file: where the row is in the file, what
// is wrong with it, and what to do. In a file that has the first of them they are not part of the items, and the
// apostrophes by which the list keeps spreadsheets from evaluating cells are taken off. So a list of bad rows can be
// corrected and read again.
var NoteColumns = [...]string{"weir_line", "weir_problem", "weir_fix"}

// DocumentColumn is the only other column in a list of bad rows of JSON: the text of the row.
const DocumentColumn = "row"

// Guarded puts an apostrophe before a cell that a spreadsheet would take for a formula, and before one that has such an
// apostrophe already: what reads a list of bad rows takes one off.
func Guarded(cell string) string {
	if plain.Formula(strings.TrimLeft(cell, "'")) {
		return "'" + cell
	}
	return cell
}

// unguarded takes that apostrophe off.
func unguarded(cell []byte) []byte {
	if len(cell) > 0 && cell[0] == '\'' && plain.Formula(bytes.TrimLeft(cell, "'")) {
		return cell[1:]
	}
	return cell
}

func headerError(field, problem, fix string) *RowError {
	return &RowError{Line: 1, Code: CodeBadCSV, Field: field, Problem: problem, Fix: fix}
}
