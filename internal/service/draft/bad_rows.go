package draft

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/stored"
)

// BadRows lists the rows of an upload that cannot be used, with what is wrong, so that they can be corrected and
// uploaded again. It reads the upload again, so that its memory does not depend on the number of rows.
type BadRows struct {
	how     HowToAppend
	rows    *source.Reader
	columns []int // of the file, without those of an earlier list
}

// BadRows prepares the list of bad rows of a draft, or of a bulk action that was made of one. The caller closes it.
func (s *Checks) BadRows(ctx context.Context, id string) (*BadRows, error) {
	d, err := s.readFrom(ctx, id)
	if err != nil {
		return nil, err
	}
	file := uploadOf(&d.Spec)
	if file == "" {
		return nil, &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("the items of %s do not come from an upload, and bad rows are not kept", id),
			Fix: "correct them where they come from"}
	}
	f, err := s.uploads.Get(ctx, file)
	if err != nil {
		return nil, &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("the upload %s of %s is not kept any more", file, id),
			Fix: "check the file that you uploaded, in a new draft"}
	}
	r, err := s.uploads.Reader(ctx, file)
	if err != nil {
		return nil, err
	}
	rows, err := source.Open(r, f.Meta["filename"], source.Options{IDColumn: d.Spec.IDColumn(), Names: d.Spec.Columns, KeepRows: true})
	if err != nil {
		return nil, unusable(err)
	}
	out := &BadRows{how: s.howTo(d), rows: rows}
	for i, name := range rows.Detected().Columns {
		if !slices.Contains(source.NoteColumns[:], name) {
			out.columns = append(out.columns, i)
		}
	}
	return out, nil
}

// readFrom returns the draft, or what of it is known after its start.
func (s *Checks) readFrom(ctx context.Context, id string) (*Draft, error) {
	d, err := s.Get(ctx, id)
	if !errors.Is(err, weir.ErrNotFound) {
		return &d, err
	}
	b, err := s.engine.Get(ctx, weir.BulkID(id))
	if err != nil {
		return nil, err
	}
	x, err := stored.ParseExtra(b.Info().Extra)
	if err != nil {
		return nil, err
	}
	return &Draft{Spec: stored.Spec{Steps: x.Steps, Params: x.Params, Source: x.Source, ItemID: x.ItemID, Columns: x.Columns}}, nil
}

// Close ends the reading.
func (b *BadRows) Close() error { return b.rows.Close() }

// WriteTo writes the list as CSV: [source.NoteColumns], and the columns of the file. A row of JSON is one column.
// Cells that a spreadsheet would evaluate are guarded, as [source.Open] expects it.
func (b *BadRows) WriteTo(ctx context.Context, to io.Writer) error {
	guard := func(cells []string) []string {
		for i, c := range cells {
			cells[i] = source.Guarded(c)
		}
		return cells
	}
	out := csv.NewWriter(to)
	head := slices.Clone(source.NoteColumns[:])
	for _, at := range b.columns {
		head = append(head, b.rows.Detected().Columns[at])
	}
	if len(b.columns) == 0 {
		head = append(head, "row")
	}
	if err := out.Write(guard(head)); err != nil {
		return err
	}
	for it, err := range b.rows.Items() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		row := (*source.RowError)(nil)
		if err != nil && !errors.As(err, &row) {
			return err
		}
		var cells []string
		switch {
		case row != nil:
			cells = b.original(row.Cells)
		case b.how.Check != nil:
			if err = b.how.Check("", it.ID, b.how.Columns.Rename(it.Data)); err != nil {
				cells = b.cells(it.Data)
			}
		}
		if err == nil {
			continue
		}
		f := b.how.faultOf(source.Item{Line: it.Line, ID: it.ID, Data: b.how.Columns.Rename(it.Data)}, err)
		if f.Field != "" && row == nil && !strings.HasPrefix(f.Message, inColumn(f.Field)) {
			f.Message = f.Field + ": " + f.Message
		}
		if err := out.Write(guard(append([]string{strconv.FormatInt(f.Line, 10), f.Message, f.Fix}, cells...))); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// original returns the cells of a row without those of an earlier list. A row that has fewer or more cells than the
// header stays as it is: where its cells belong is what a person has to say.
func (b *BadRows) original(cells []string) []string {
	all := b.rows.Detected().Columns
	if len(cells) != len(all) || len(b.columns) == len(all) {
		return cells
	}
	var kept []string
	for _, at := range b.columns {
		kept = append(kept, cells[at])
	}
	return kept
}

// cells returns the cells of a row that was read; of JSON its text.
func (b *BadRows) cells(doc []byte) []string {
	var members map[string]string
	if len(b.columns) == 0 || json.Unmarshal(doc, &members) != nil {
		return []string{string(doc)}
	}
	var cells []string
	for _, at := range b.columns {
		cells = append(cells, members[b.rows.Detected().Columns[at]])
	}
	return cells
}
