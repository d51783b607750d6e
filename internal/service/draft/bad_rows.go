package draft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/stored"
)

// LeftOut reads the uploads of a draft again, to list rows of them that do not become items. So its memory does not depend
// on the number of rows that cannot be used.
type LeftOut struct {
	how     HowToAppend
	all     bool // duplicates are items
	rows    *uploadRows
	columns []string // of the files, without those of an earlier list
}

// LeftOut prepares lists of a draft, or of a bulk action that was made of one. The caller closes it.
func (s *Checks) LeftOut(ctx context.Context, id string) (*LeftOut, error) {
	d, err := s.readFrom(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(d.Spec.Source.Uploads()) == 0 {
		return nil, &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("the items of %s do not come from an upload, and bad rows are not kept", id),
			Fix: "correct them where they come from"}
	}
	out := &LeftOut{how: s.howTo(d), all: d.Spec.Duplicates == "keep_all"}
	out.rows, err = openRows(ctx, s.uploads, d.Spec.Source, &out.how, source.Options{KeepRows: true})
	if errors.Is(err, weir.ErrNotFound) {
		return nil, &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("an upload of %s is not kept any more", id),
			Fix: "check the file that you uploaded, in a new draft"}
	}
	if err != nil {
		return nil, unusable(1, err)
	}
	if out.rows.found[0].Format != source.CSV {
		return out, nil
	}
	for _, found := range out.rows.found {
		for _, name := range found.Columns {
			if !slices.Contains(source.NoteColumns[:], name) && !slices.Contains(out.columns, name) {
				out.columns = append(out.columns, name)
			}
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
	return &Draft{Spec: stored.Spec{Steps: x.Steps, Params: x.Params, Source: x.Source, ItemID: x.ItemID, Columns: x.Columns, Duplicates: x.Duplicates,
		FoldIDs: x.FoldIDs}}, nil
}

// Close ends the reading.
func (l *LeftOut) Close() error { return l.rows.Close() }

// Encoding returns the encoding of a list: that of the first file.
func (l *LeftOut) Encoding() string {
	if found := l.rows.found[0]; found.Format == source.CSV {
		return found.Encoding
	}
	return "utf-8"
}

// WriteBad lists the rows that cannot be used, with what is wrong, so that they can be corrected and added to the draft:
// [source.NoteColumns], and the columns of the file. A row of JSON is one column.
func (l *LeftOut) WriteBad(ctx context.Context, to io.Writer) error {
	out, err := source.NewList(to, l.rows.found[0])
	if err != nil {
		return err
	}
	head := slices.Concat(source.NoteColumns[:], l.columns)
	if len(l.columns) == 0 {
		head = append(head, source.DocumentColumn)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for it, err := range l.rows.all() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		bad := (*source.RowError)(nil)
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		if bad == nil {
			err = l.rows.refused(&it.Item)
		}
		if err == nil {
			continue
		}
		if err := out.Write(l.line(&it, bad, err)); err != nil {
			return err
		}
	}
	return out.Close()
}

// line returns the cells of a bad row in the list.
func (l *LeftOut) line(it *row, bad *source.RowError, why error) []string {
	f := l.how.faultOf(source.Item{Line: it.Line, ID: it.ID, Data: l.how.Columns.Rename(it.Data)}, why)
	if f.Field != "" && bad == nil && !strings.HasPrefix(f.Message, inColumn(f.Field)) {
		f.Message = f.Field + ": " + f.Message
	}
	cells := []string{placeOf(it.file, int(f.Line)), f.Message, f.Fix}
	if bad != nil {
		return append(cells, l.original(it.file, bad.Cells)...)
	}
	return append(cells, l.cells(it.Data)...)
}

// original returns the cells of a row that could not be read, in the order of the list. A row that has fewer or more cells
// than the header stays as it is: where its cells belong is what a person has to say.
func (l *LeftOut) original(file int, cells []string) []string {
	all := l.rows.found[file-1].Columns
	if len(l.columns) == 0 || len(cells) != len(all) {
		return cells
	}
	kept := make([]string, len(l.columns))
	for i, name := range l.columns {
		if at := slices.Index(all, name); at >= 0 {
			kept[i] = cells[at]
		}
	}
	return kept
}

// cells returns the cells of a row that was read; of JSON its text.
func (l *LeftOut) cells(doc []byte) []string {
	var members map[string]json.RawMessage
	if len(l.columns) == 0 || json.Unmarshal(doc, &members) != nil {
		return []string{string(doc)}
	}
	var cells []string
	for _, name := range l.columns {
		var text string
		if raw := members[name]; json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		cells = append(cells, text)
	}
	return cells
}

// WriteRepeated lists the rows whose id an earlier row has: where they are, their id, and where the first one is. It reads as
// many rows as a check.
func (l *LeftOut) WriteRepeated(ctx context.Context, to io.Writer) error {
	out, err := source.NewList(to, l.rows.found[0])
	if err != nil {
		return err
	}
	if err := out.Write([]string{"line", "id", "first_line"}); err != nil {
		return err
	}
	var ids sameIDs
	read := 0
	for it, err := range l.rows.all() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		bad := (*source.RowError)(nil)
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		if read++; read > checkRows || l.all {
			break
		}
		if bad != nil || l.rows.refused(&it.Item) != nil {
			continue
		}
		if same, repeats := ids.add(it.ID, it.file, it.Line); repeats {
			if err := out.Write([]string{placeOf(it.file, it.Line), it.ID, placeOf(int(same.FirstFile), int(same.FirstLine))}); err != nil {
				return err
			}
		}
	}
	return out.Close()
}
