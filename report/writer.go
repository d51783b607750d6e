package report

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Format says how rows are written.
type Format string

// The formats. NDJSON is for machines: its values are never changed.
const (
	FormatCSV    Format = "csv"
	FormatNDJSON Format = "ndjson"
)

// Options configures a [Writer]. The zero value suits a spreadsheet.
type Options struct {
	// RawCells leaves cells of CSV files unchanged, even those that a spreadsheet would
	// evaluate as formulas. Only for programs that read the files. Default false: such cells
	// get a leading apostrophe.
	RawCells bool
	// BOM starts CSV files with a byte order mark, which some spreadsheets need to detect
	// UTF-8. Default false.
	BOM bool
}

const bufferSize = 256 << 10

// kind is one of the files of a report.
type kind int

const (
	doneFile kind = iota
	failedFile
	cancelledFile
	pendingFile
	duplicatesFile
	invalidFile
	kinds
)

var names = [kinds]string{"done", "failed", "cancelled", "pending", "duplicates", "invalid"}

// heads lists the first columns of each CSV file.
var heads = [kinds][]string{
	doneFile:       {"id"},
	failedFile:     {"id", "step", "code", "message", "attempts"},
	cancelledFile:  {"id", "step", "reason", "code", "message", "attempts"},
	pendingFile:    {"id", "state", "step", "reason", "attempts"},
	duplicatesFile: {"line", "id", "first_line"},
	invalidFile:    {"line", "column", "code", "field", "value", "problem", "fix"},
}

const summaryFile = "report.json"

// Writer writes the report of one bulk action into a folder. Rows are in the files in the order
// of the calls. It belongs to one goroutine.
type Writer struct {
	dir     string
	format  Format
	o       Options
	tables  [kinds]*table  // with CSV
	streams [kinds]*stream // with NDJSON
	cells   [][]byte
	text    []byte
	number  []byte
	err     error // the first one; nothing is written after it
}

// NewWriter prepares the folder dir: it creates it, for the owner alone, and removes a report
// in it. It touches no other file. The caller ends with [Writer.Close] or [Writer.Abort].
func NewWriter(dir string, f Format, o Options) (*Writer, error) {
	if f = cmp.Or(f, FormatCSV); f != FormatCSV && f != FormatNDJSON {
		return nil, fmt.Errorf("report format %q is not known; use csv or ndjson", f)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("report folder: %w", err)
	}
	for _, n := range owned() {
		if err := os.Remove(filepath.Join(dir, n)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("remove old report: %w", err)
		}
	}
	return &Writer{dir: dir, format: f, o: o}, nil
}

// owned returns the names of all files that a report may have. The summary is removed first,
// since it marks the rest as complete.
func owned() []string {
	all := []string{summaryFile, summaryFile + ".tmp"}
	for _, n := range names {
		all = append(all, n+".csv", n+".csv.wide", n+".ndjson")
	}
	return all
}

// Replaces reports whether a report in the folder dir would replace an existing file.
func Replaces(dir, file string) bool {
	st, err := os.Stat(file)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(owned(), func(n string) bool {
		own, err := os.Stat(filepath.Join(dir, n))
		return err == nil && os.SameFile(st, own)
	})
}

// create creates a file that only its owner can read. It does not follow links.
func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// Write adds the row of one item to the file of its state. The row is not kept.
func (w *Writer) Write(r Row) error {
	if w.err != nil {
		return w.err
	}
	k, err := kindOf(r.State)
	if err == nil && w.format == FormatNDJSON {
		err = w.stream(k, func(s *stream) error { return s.write(r) })
	} else if err == nil {
		err = w.row(k, r)
	}
	return w.fail(err)
}

func kindOf(state State) (kind, error) {
	switch state {
	case StateDone:
		return doneFile, nil
	case StateFailed:
		return failedFile, nil
	case StateCancelled:
		return cancelledFile, nil
	case StateReady, StateWaiting, StateInFlight:
		return pendingFile, nil
	}
	return 0, fmt.Errorf("report: state %q of a row is not known", state)
}

func (w *Writer) row(k kind, r Row) error {
	w.number = strconv.AppendInt(w.number[:0], int64(r.Attempts), 10)
	switch k {
	case doneFile:
		w.set(r.ID)
	case failedFile:
		w.set(r.ID, r.Step, r.Code, r.Message)
	case cancelledFile:
		w.set(r.ID, r.Step, r.Reason, r.Code, r.Message)
	default:
		w.set(r.ID, string(r.State), r.Step, r.Reason)
	}
	if k != doneFile {
		w.cells = append(w.cells, w.number)
	}
	return w.table(k, r.Data, r.Output)
}

// Duplicate records a row of the input with a duplicate id, first seen at firstLine if that is
// not 0.
func (w *Writer) Duplicate(line int, id string, firstLine int) error {
	if w.err != nil {
		return w.err
	}
	if w.format == FormatNDJSON {
		return w.fail(w.stream(duplicatesFile, func(s *stream) error {
			return s.record(Duplicate{Line: line, ID: id, FirstLine: firstLine})
		}))
	}
	w.set(strconv.Itoa(line), id, orNothing(firstLine))
	return w.fail(w.table(duplicatesFile, nil, nil))
}

// Invalid records a row of the input that could not become an item.
func (w *Writer) Invalid(i Invalid) error {
	if w.err != nil {
		return w.err
	}
	if w.format == FormatNDJSON {
		return w.fail(w.stream(invalidFile, func(s *stream) error { return s.record(i) }))
	}
	w.set(strconv.Itoa(i.Line), orNothing(i.Column), i.Code, i.Field, i.Value, i.Problem, i.Fix)
	return w.fail(w.table(invalidFile, nil, nil))
}

// orNothing formats a number; 0 means unknown and is empty.
func orNothing(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// set copies the cells of a row into memory that is reused for the next.
func (w *Writer) set(cells ...string) {
	w.cells, w.text = w.cells[:0], w.text[:0]
	for _, c := range cells {
		from := len(w.text)
		w.text = append(w.text, c...)
		w.cells = append(w.cells, w.text[from:])
	}
}

// table adds a row of w.cells and the documents to a CSV file, which is created for its first
// row.
func (w *Writer) table(k kind, data, output []byte) error {
	if w.tables[k] == nil {
		f, err := create(filepath.Join(w.dir, names[k]+".csv"))
		if err != nil {
			return err
		}
		w.tables[k] = newTable(f, w.o, heads[k]...)
	}
	return w.tables[k].write(w.cells, data, output)
}

// stream lets add write to an NDJSON file, which is created for its first row.
func (w *Writer) stream(k kind, add func(*stream) error) error {
	if w.streams[k] == nil {
		f, err := create(filepath.Join(w.dir, names[k]+".ndjson"))
		if err != nil {
			return err
		}
		w.streams[k] = newStream(f)
	}
	return add(w.streams[k])
}

func (w *Writer) fail(err error) error {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("write report: %w", err)
	}
	return w.err
}
