package result

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/plain"
	"github.com/weirhq/weir/report"
)

// RowWriter writes an export. For CSV it reads all rows twice: the first time to find the columns.
// Its memory does not depend on the number of rows.
type RowWriter struct {
	x       Export
	how     Writing
	fixed   []string       // columns of CSV, the first ones
	columns []string       // of CSV, after the fixed ones
	index   map[string]int // place of a column among them
}

// Writing says how an export is written.
type Writing struct {
	Format report.Format
	Raw    bool // cells of CSV stay as they are
	// Delimiter separates the cells of CSV. Default: a comma.
	Delimiter rune
	BOM       bool // CSV begins with a byte order mark
}

// fixedColumns are the first columns of every CSV export.
var fixedColumns = []string{"item", "bulk_action", "id", "state", "step", "code", "message", "reason", "attempts", "retried_by"}

// unclearColumn and undoneColumn follow them if a row has a value there.
const (
	unclearColumn = "unclear"
	undoneColumn  = "undone_by"
)

// maxColumns bounds the columns for members of documents; further members go into the column more,
// as JSON.
const maxColumns = 512

// NewRowWriter prepares an export.
func NewRowWriter(ctx context.Context, x Export, how Writing) (*RowWriter, error) {
	w := &RowWriter{x: x, how: how, fixed: fixedColumns, index: map[string]int{}}
	if how.Format != report.FormatCSV {
		return w, nil
	}
	var unclear, undone bool
	for r, err := range x.Rows(ctx, "") { // from the beginning also when only the rest is written: the columns are the same
		if err != nil {
			return nil, err
		}
		unclear, undone = unclear || r.Unclear, undone || r.UndoneBy != ""
		for name := range w.members(&r) {
			w.add(name)
		}
	}
	if unclear {
		w.fixed = append(slices.Clip(w.fixed), unclearColumn)
	}
	if undone {
		w.fixed = append(slices.Clip(w.fixed), undoneColumn)
	}
	return w, nil
}

func (w *RowWriter) add(name string) {
	if _, known := w.index[name]; known {
		return
	}
	if len(w.columns) >= maxColumns {
		name = "more"
		if _, known := w.index[name]; known {
			return
		}
	}
	w.index[name] = len(w.columns)
	w.columns = append(w.columns, name)
}

// WriteTo writes the rows after an item; empty: all rows, with a header if the format has one.
func (w *RowWriter) WriteTo(ctx context.Context, to io.Writer, after string) error {
	buf := bufio.NewWriterSize(to, 32<<10)
	if w.how.Format == report.FormatCSV {
		if err := w.csv(ctx, buf, after); err != nil {
			return err
		}
		return buf.Flush()
	}
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	for r, err := range w.x.Rows(ctx, after) {
		if err == nil {
			err = enc.Encode(&r)
		}
		if err != nil {
			return err
		}
	}
	return buf.Flush()
}

func (w *RowWriter) csv(ctx context.Context, to io.Writer, after string) error {
	out := csv.NewWriter(to)
	out.Comma = cmp.Or(w.how.Delimiter, ',')
	cells := slices.Concat(w.fixed, w.columns)
	if after == "" {
		if w.how.BOM {
			if _, err := io.WriteString(to, "\uFEFF"); err != nil {
				return err
			}
		}
		if err := out.Write(w.guarded(cells)); err != nil {
			return err
		}
	}
	for r, err := range w.x.Rows(ctx, after) {
		if err == nil {
			w.cells(cells, &r)
			err = out.Write(w.guarded(cells))
		}
		if err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// cells fills in the cells of a row.
func (w *RowWriter) cells(cells []string, r *api.ItemResult) {
	clear(cells)
	copy(cells, []string{r.Item, r.BulkAction, r.ID, r.State, r.Step, r.Code, r.Message, r.Reason, strconv.Itoa(r.Attempts),
		r.RetriedBy})
	for i := len(fixedColumns); i < len(w.fixed); i++ {
		switch {
		case w.fixed[i] == undoneColumn:
			cells[i] = r.UndoneBy
		case r.Unclear:
			cells[i] = "yes"
		}
	}
	var more map[string]json.RawMessage
	for name, value := range w.members(r) {
		at, known := w.index[name]
		if !known {
			if more == nil {
				more = map[string]json.RawMessage{}
			}
			more[name] = value
			continue
		}
		cells[len(w.fixed)+at] = cellText(value)
	}
	if at, known := w.index["more"]; known && more != nil {
		text, _ := json.Marshal(more) // it was JSON before
		cells[len(w.fixed)+at] = string(text)
	}
}

func (w *RowWriter) guarded(cells []string) []string {
	if w.how.Raw {
		return cells
	}
	return Guarded(cells)
}

// Guarded puts an apostrophe before the cells that a spreadsheet may take for formulas.
func Guarded(cells []string) []string {
	for i, c := range cells {
		if plain.Formula(c) {
			cells[i] = "'" + c
		}
	}
	return cells
}

// members yields the columns of a row's documents: members of the item under their own names,
// unless the export uses those, and members of the output as output.NAME, or as output.STEP.NAME if the chain has more
// than one step.
func (w *RowWriter) members(r *api.ItemResult) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for name, v := range ofObject(r.Data, "data", dataColumn) {
			if name == "data.id" && cellText(v) == r.ID {
				continue // the column id has it already
			}
			if !yield(name, v) {
				return
			}
		}
		if len(w.x.Steps) < 2 {
			outputMembers(r.Output, "output", yield)
			return
		}
		for _, step := range w.x.Steps {
			if !outputMembers(r.Outputs[step], "output."+step, yield) {
				return
			}
		}
	}
}

// outputMembers yields the members of an output, and reports whether more are wanted.
func outputMembers(doc json.RawMessage, column string, yield func(string, json.RawMessage) bool) bool {
	for name, v := range ofObject(doc, column, func(name string) string { return column + "." + name }) {
		if !yield(name, v) {
			return false
		}
	}
	return true
}

// dataColumn keeps a member's own name unless the export uses it.
func dataColumn(name string) string {
	if slices.Contains(fixedColumns, name) || name == "output" || name == "data" || name == "more" || name == unclearColumn || name == undoneColumn || name == "" ||
		strings.HasPrefix(name, "output.") || strings.HasPrefix(name, "data.") {
		return "data." + name
	}
	return name
}

// ofObject yields the members of an object by name; a document that is not an object is one
// member.
func ofObject(doc json.RawMessage, whole string, column func(string) string) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		var m map[string]json.RawMessage
		switch {
		case len(doc) == 0 || string(doc) == "null":
		case json.Unmarshal(doc, &m) != nil:
			yield(whole, doc)
		default:
			for _, name := range slices.Sorted(maps.Keys(m)) {
				if !yield(column(name), m[name]) {
					return
				}
			}
		}
	}
}

// cellText returns a JSON value as text: a string without quotes, null as empty, any other value
// unchanged.
func cellText(v json.RawMessage) string {
	var text string
	switch {
	case string(v) == "null":
		return ""
	case len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &text) == nil:
		return text
	}
	return string(v)
}
