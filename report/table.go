package report

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
)

// maxColumns bounds the columns of a file; further members go to the column "more".
const maxColumns = 512

// table is one CSV file of items. Its columns are
//
//   - id, and those of the file's subject: step, code, message, attempts for failures, for instance;
//   - one for each member of the items' documents, under its own name, or data.NAME where that name is taken;
//   - one for each member of the outputs, as output.NAME.
//
// Cells hold text unquoted, numbers as written, null as empty, objects and arrays as JSON. A document that
// is not an object goes to the column data, such an output to output.
//
// Every row of a file has all its columns. A member that first appears in a later row gets a column at the
// end, and close then fills up the earlier rows.
type table struct {
	f       *os.File
	w       *bufio.Writer
	o       Options
	fixed   []string
	columns []string
	index   map[string]int
	data    spread
	output  spread
	cells   [][]byte
	more    []byte // members without a column, as the inside of a JSON object
	line    []byte
	rows    int
	grown   []growth
}

// growth records from which row on the table has how many columns.
type growth struct{ row, columns int }

func newTable(f *os.File, o Options, fixed ...string) *table {
	t := &table{f: f, w: bufio.NewWriterSize(f, bufferSize), o: o, fixed: fixed, index: make(map[string]int)}
	t.data = newSpread("data", t.dataColumn)
	t.output = newSpread("output", func(name string) string { return "output." + name })
	for _, name := range fixed {
		t.column(name)
	}
	return t
}

// noColumn is the column of members that do not fit.
const noColumn = -1

// column returns the index of the column called name, and adds it if there is room.
func (t *table) column(name string) int {
	if i, ok := t.index[name]; ok {
		return i
	}
	if len(t.columns) >= maxColumns && name != "more" {
		return noColumn
	}
	t.columns = append(t.columns, name)
	t.cells = append(t.cells, nil)
	t.index[name] = len(t.columns) - 1
	return len(t.columns) - 1
}

// dataColumn returns a member's own name unless the report uses that name.
func (t *table) dataColumn(name string) string {
	if slices.Contains(t.fixed, name) || name == "output" || name == "data" || name == "more" || name == "" ||
		strings.HasPrefix(name, "output.") || strings.HasPrefix(name, "data.") {
		return "data." + name
	}
	return name
}

// write adds a row: the fixed cells, of which the first is the id, the document and the output.
func (t *table) write(fixed [][]byte, data, output []byte) error {
	clear(t.cells)
	copy(t.cells, fixed)
	t.more = t.more[:0]
	t.data.put(t, data)
	t.output.put(t, output)
	if len(t.more) > 0 {
		t.cells[t.column("more")] = append(t.more, '}')
	}
	if err := t.layOut(); err != nil {
		return err
	}
	t.rows++
	t.line = appendRow(t.line[:0], t.cells, !t.o.RawCells)
	_, err := t.w.Write(t.line)
	return err
}

// layOut writes the header before the first row, and records at which rows columns were added.
func (t *table) layOut() error {
	if n := len(t.grown); n > 0 && t.grown[n-1].columns == len(t.columns) {
		return nil
	}
	t.grown = append(t.grown, growth{t.rows, len(t.columns)})
	if t.rows > 0 {
		return nil
	}
	_, err := t.w.Write(t.header())
	return err
}

func (t *table) header() []byte {
	var line []byte
	if t.o.BOM {
		line = append(line, "\uFEFF"...)
	}
	names := make([][]byte, len(t.columns))
	for i, name := range t.columns {
		names[i] = []byte(name)
	}
	return appendRow(line, names, !t.o.RawCells)
}

func (t *table) count() int { return t.rows }

// close ends the file. If columns came late, the file is written again with the whole header and full rows.
func (t *table) close() error {
	err := t.w.Flush()
	if err == nil && len(t.grown) > 1 {
		return t.widen()
	}
	if err == nil {
		err = t.f.Sync()
	}
	return errors.Join(err, t.f.Close())
}

// widen replaces the file by one in which every row has as many cells as the header.
func (t *table) widen() error {
	wide, err := create(t.f.Name() + ".wide")
	if err != nil {
		return errors.Join(err, t.f.Close())
	}
	_, err = t.f.Seek(0, io.SeekStart)
	if err == nil {
		t.w.Reset(wide)
		err = t.copyWide(bufio.NewReaderSize(t.f, bufferSize))
	}
	if err == nil {
		err = t.w.Flush()
	}
	if err == nil {
		err = wide.Sync()
	}
	if err = errors.Join(err, wide.Close(), t.f.Close()); err != nil {
		return err
	}
	return os.Rename(wide.Name(), t.f.Name())
}

// copyWide copies all rows byte by byte, the header anew, and adds the empty cells. A line feed ends a row unless it
// stands between quotes, which in a file of our own are always in pairs.
func (t *table) copyWide(old *bufio.Reader) error {
	if _, err := t.w.Write(t.header()); err != nil {
		return err
	}
	quoted := false
	for row, next := -1, 0; ; { // row -1 is the old header
		c, err := old.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if c == '"' {
			quoted = !quoted
		}
		ends := c == '\n' && !quoted
		if row >= 0 && ends {
			for next < len(t.grown) && t.grown[next].row <= row {
				next++
			}
			for range len(t.columns) - t.grown[next-1].columns {
				_ = t.w.WriteByte(',') // errors stick to the buffer and come up in Flush
			}
		}
		if row >= 0 {
			_ = t.w.WriteByte(c)
		}
		if ends {
			row++
		}
	}
}
