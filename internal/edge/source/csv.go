package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// csvRows reads CSV by the rules of RFC 4180 and of encoding/csv: quotes are doubled inside
// quotes and mean nothing elsewhere, CRLF counts as a line feed, blank lines are skipped.
// Unlike encoding/csv it never holds more than one bounded row, and continues after a broken
// one.
type csvRows struct {
	w          *buffer
	opts       Options
	delim      byte
	columns    []string
	idCol      int
	transcoded bool
	declares   bool // the first line declares the delimiter
	skip       bool // the line before was too long to hold, and is not read to its end

	cells   []cell
	labels  [][]byte // what precedes each value: {"id":" and then ","name":"; nil: the column is left out
	own     bool     // the file is a corrected list of bad rows, see [NoteColumns]
	note    int      // its column with the line of the bad row; -1: none
	docs    *docs    // it is a list of bad rows of JSON, whose rows are documents; nil: it is not
	doc     []byte
	scratch []byte
}

// cell is the place of one value in the buffer, counted from the start of its row.
type cell struct {
	start, end int
	quoted     bool // has doubled quotes or line ends to clean
}

func (c *csvRows) next(it *Item) error {
	for {
		n, bad, err := c.record()
		if err != nil {
			return err
		}
		if bad != nil {
			return bad
		}
		row, line := c.w.unread()[:n], c.w.line
		c.w.drop(n)
		if len(c.cells) != len(c.columns) && !c.fit() {
			if c.blank(row) {
				continue
			}
			return c.kept(c.wrongWidth(row, line), row)
		}
		it.Corrects = c.corrects(row)
		if c.docs != nil {
			return c.document(row, line, it)
		}
		if !utf8.Valid(row) || c.transcoded && bytes.Contains(row, replacement) {
			return c.kept(badEncoding(row, badText(row, c.transcoded), line, 0), row)
		}
		id := string(c.value(row, c.cells[c.idCol]))
		if bad := checkID(id, c.columns[c.idCol], c.opts.MaxID); bad != nil {
			if c.blank(row) {
				continue // spreadsheets leave rows of nothing but delimiters
			}
			bad.place(row, c.cells[c.idCol].start, line, 0)
			return c.kept(bad, row)
		}
		if c.build(row); len(c.doc) > c.opts.MaxItem {
			return c.kept(tooLarge(line, len(c.doc), c.opts.MaxItem), row)
		}
		it.ID, it.Data, it.Line = id, c.doc, line
		return nil
	}
}

// record finds the cells of the next row that is not blank and its length, without consuming
// it. A row that cannot be split is consumed and reported in bad.
func (c *csvRows) record() (n int, bad *RowError, err error) {
	if c.skip {
		c.skip = false
		if err := c.w.skipLine(); err != nil {
			return 0, nil, err
		}
	}
	for {
		line, n, err := c.w.nextLine(0)
		if errors.Is(err, errTooLong) { // a caller that stops here need not wait for the end of the line
			c.skip = true
			return 0, tooLarge(c.w.line, -1, c.opts.MaxItem), nil
		}
		if err != nil {
			return 0, nil, err
		}
		text := trimCR(line)
		if len(text) == 0 {
			c.w.dropLine(n)
			continue
		}
		if bytes.IndexByte(text, '"') < 0 {
			c.split(text)
			return n, nil, nil
		}
		return c.quoted()
	}
}

// split cuts a line without quotes.
func (c *csvRows) split(line []byte) {
	c.cells = c.cells[:0]
	start := 0
	for i, b := range line {
		if b == c.delim {
			c.cells = append(c.cells, cell{start: start, end: i})
			start = i + 1
		}
	}
	c.cells = append(c.cells, cell{start: start, end: len(line)})
}

// value returns the content of a cell; it is valid until the next call.
func (c *csvRows) value(row []byte, at cell) []byte {
	raw := row[at.start:at.end]
	if c.own {
		raw = unguarded(raw)
	}
	if !at.quoted {
		return raw
	}
	c.scratch = c.scratch[:0]
	for i := 0; i < len(raw); i++ {
		if raw[i] == '"' || raw[i] == '\r' && i+1 < len(raw) && raw[i+1] == '\n' {
			i++ // of two quotes the second, of CRLF the line feed
		}
		c.scratch = append(c.scratch, raw[i])
	}
	return c.scratch
}

// build builds the row's document.
func (c *csvRows) build(row []byte) {
	doc := c.doc[:0]
	for i, at := range c.cells {
		if c.labels[i] == nil {
			continue
		}
		doc = append(doc, c.labels[i]...)
		if v := c.value(row, at); verbatim(v) {
			doc = append(doc, v...)
		} else {
			doc = appendEscaped(doc, v)
		}
	}
	c.doc = append(doc, '"', '}')
}

// verbatim reports whether v needs no escapes in JSON.
func verbatim(v []byte) bool {
	for _, b := range v {
		if b < ' ' || b == '"' || b == '\\' {
			return false
		}
	}
	return true
}

// appendEscaped appends valid UTF-8 as the inside of a JSON string.
func appendEscaped(doc, v []byte) []byte {
	before := len(doc)
	doc, err := jsontext.AppendQuote(doc, v)
	if err != nil {
		panic("source: quote of checked text: " + err.Error())
	}
	copy(doc[before:], doc[before+1:])
	return doc[:len(doc)-2]
}

func (c *csvRows) blank(row []byte) bool {
	for _, at := range c.cells {
		if len(bytes.TrimSpace(row[at.start:at.end])) > 0 {
			return false
		}
	}
	return true
}

// fit drops empty cells behind the last column, and reports whether the row then is as wide as
// the header.
func (c *csvRows) fit() bool {
	for n := len(c.cells); n > len(c.columns) && c.cells[n-1].start >= c.cells[n-1].end; n-- {
		c.cells = c.cells[:n-1]
	}
	return len(c.cells) == len(c.columns)
}

// idMember returns the column of the ids, or the member of documents.
func (c *csvRows) idMember() string {
	if c.docs != nil {
		return c.docs.id
	}
	return c.columns[c.idCol]
}

// document reads a row of a list of bad rows of JSON.
func (c *csvRows) document(row []byte, line int, it *Item) error {
	c.doc = append(c.doc[:0], c.value(row, c.cells[slices.Index(c.columns, DocumentColumn)])...)
	err := c.docs.item(c.doc, line, 0, it)
	if bad := (*RowError)(nil); errors.As(err, &bad) {
		bad.Corrects = it.Corrects
	}
	return err
}

// corrects returns which row of another file a row corrects.
func (c *csvRows) corrects(row []byte) string {
	if c.note < 0 {
		return ""
	}
	return asText(bytes.TrimSpace(c.value(row, c.cells[c.note])))
}

// kept adds the cells of the row to an error, if the caller wants them.
func (c *csvRows) kept(bad *RowError, row []byte) *RowError {
	if len(c.cells) == len(c.columns) {
		bad.Corrects = c.corrects(row)
	}
	if c.opts.KeepRows {
		for _, at := range c.cells {
			bad.Cells = append(bad.Cells, asText(c.value(row, at)))
		}
	}
	return bad
}

func asText(b []byte) string { return strings.ToValidUTF8(string(b), string(replacement)) }

func (c *csvRows) wrongWidth(row []byte, line int) *RowError {
	fix := fmt.Sprintf("put cells that contain %q in double quotes", c.delim)
	if len(c.cells) < len(c.columns) {
		fix = "add the missing cells; an empty cell is two delimiters in a row"
	}
	return &RowError{
		Line: line, Code: CodeBadCSV, Value: shorten(bytes.TrimSpace(row)),
		Problem: fmt.Sprintf("the row has %s, the header has %d", cellCount(len(c.cells)), len(c.columns)),
		Fix:     fix,
	}
}

func cellCount(n int) string {
	if n == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", n)
}

func trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// quoted splits a row with quotes, which may span many lines.
func (c *csvRows) quoted() (n int, bad *RowError, err error) {
	c.cells = c.cells[:0]
	for i := 0; ; {
		var (
			last bool
			bad  *RowError
		)
		if b := c.w.unread(); i < len(b) && b[i] == '"' {
			i, last, bad, err = c.quotedCell(i)
		} else {
			i, last, bad, err = c.bareCell(i)
		}
		if err != nil {
			return 0, nil, err
		}
		if bad != nil {
			if text, _, err := c.w.nextLine(0); c.opts.KeepRows && err == nil {
				bad.Cells = []string{asText(trimCR(text))}
			}
			return 0, bad, c.w.skipLine()
		}
		if last {
			return i, nil, nil
		}
	}
}

// bareCell cuts the cell that starts at i and has no quotes. It returns where the next one starts.
func (c *csvRows) bareCell(i int) (next int, last bool, bad *RowError, err error) {
	line, n, err := c.w.nextLine(i)
	if err == io.EOF || err == errTooLong {
		return 0, true, tooLarge(c.w.line, -1, c.opts.MaxItem), nil
	}
	if err != nil {
		return 0, false, nil, err
	}
	text := trimCR(line)
	for j := i; j < len(text); j++ {
		switch text[j] {
		case c.delim:
			c.cells = append(c.cells, cell{start: i, end: j})
			return j + 1, false, nil, nil
		case '"':
			return 0, false, c.bad(j, "there is a quote in a cell that does not start with one",
				"put the whole cell in double quotes and double those inside"), nil
		}
	}
	c.cells = append(c.cells, cell{start: i, end: max(i, len(text))})
	return n, true, nil, nil
}

// quotedCell cuts the cell whose opening quote is at i.
func (c *csvRows) quotedCell(i int) (next int, last bool, bad *RowError, err error) {
	at := cell{start: i + 1}
	for j := i + 1; ; {
		k := bytes.IndexByte(c.w.unread()[j:], '"')
		if k < 0 {
			j = len(c.w.unread())
			if c.w.more() {
				continue
			}
			if c.w.err != nil && c.w.err != io.EOF {
				return 0, false, nil, c.w.err
			}
			return 0, false, c.bad(i, "the quote opened here is never closed", "close it, or double it if it belongs to the text"), nil
		}
		j += k
		for len(c.w.unread()) < j+3 && c.w.more() {
		}
		at.end = j
		at.quoted = at.quoted || bytes.Contains(c.w.unread()[at.start:j], []byte("\r\n"))
		switch rest := c.w.unread()[j+1:]; {
		case len(rest) > 0 && rest[0] == '"':
			at.quoted = true
			j += 2
			continue
		case len(rest) > 0 && rest[0] == c.delim:
			next = j + 2
		case len(rest) == 0, len(rest) == 1 && rest[0] == '\r':
			next, last = j+1+len(rest), true
		case rest[0] == '\n':
			next, last = j+2, true
		case bytes.HasPrefix(rest, []byte("\r\n")):
			next, last = j+3, true
		default:
			return 0, false, c.bad(j, "there is text behind the closing quote", "double the quotes that belong to the text"), nil
		}
		c.cells = append(c.cells, at)
		return next, last, nil, nil
	}
}

// bad returns an error for byte i of the row.
func (c *csvRows) bad(i int, problem, fix string) *RowError {
	row := c.w.unread()
	e := &RowError{Code: CodeBadCSV, Problem: problem, Fix: fix, Value: shorten(row[min(i, len(row)):])}
	e.place(row, i, c.w.line, c.w.col)
	return e
}
