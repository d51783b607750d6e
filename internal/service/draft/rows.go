package draft

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/internal/service/upload"
)

// uploadRows reads the uploads of a source, one after the other, as one sequence of rows. A row that cannot be used is
// left out if a later upload corrects it: names its place, as a corrected list of bad rows does, or has its id. A row that
// can be used stays, whatever a later upload says.
type uploadRows struct {
	ctx     context.Context
	uploads *upload.Uploads
	ids     []string
	how     *HowToAppend
	opts    source.Options
	first   *source.Reader // open
	now     *source.Reader // the one that is being read
	found   []source.Detected
	files   []upload.File
	// fixed holds places and ids of the uploads from the second on, each with the number of the last upload that has it.
	fixed     *source.Keys
	corrected int64 // rows that were left out so far
}

// row is one row of the uploads of a source.
type row struct {
	source.Item
	file int   // number of the upload, from 1
	no   int64 // how many rows could be read up to this one, with those that are left out
}

// fileError is the error of an upload that cannot be read, by its number.
type fileError struct {
	file int
	err  error
}

// Error implements error.
func (e *fileError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *fileError) Unwrap() error { return e.err }

// openRows opens the uploads of a source. The error of an upload that cannot be read is a *fileError.
func openRows(ctx context.Context, all *upload.Uploads, from *stored.Source, how *HowToAppend, o source.Options) (*uploadRows, error) {
	o.IDColumn, o.Names = how.ItemID, how.Columns
	u := &uploadRows{ctx: ctx, uploads: all, ids: from.Uploads(), how: how, opts: o}
	for _, id := range u.ids {
		f, err := all.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		u.files = append(u.files, f)
	}
	var err error
	if u.first, err = u.open(1); err != nil {
		return nil, err
	}
	u.found = append(u.found, u.first.Detected())
	if u.opts.IDColumn == "" { // the others have to have the same
		u.opts.IDColumn = u.found[0].IDColumn
	}
	if err = u.lookAhead(); err != nil {
		_ = u.Close() // only read
		return nil, err
	}
	return u, nil
}

// open opens an upload by its number.
func (u *uploadRows) open(no int) (*source.Reader, error) {
	r, err := u.uploads.Reader(u.ctx, u.ids[no-1])
	if err != nil {
		return nil, err
	}
	rd, err := source.Open(r, u.files[no-1].Meta["filename"], u.opts)
	if err != nil {
		return nil, &fileError{no, err}
	}
	return rd, nil
}

// Close ends the reading.
func (u *uploadRows) Close() error {
	var errs []error
	for _, r := range []*source.Reader{u.first, u.now} {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	u.first, u.now = nil, nil
	return errors.Join(errs...)
}

// lookAhead reads what the uploads from the second on correct, the last first.
func (u *uploadRows) lookAhead() error {
	for no := len(u.ids); no > 1; no-- {
		if u.fixed == nil {
			u.fixed = source.NewPlacedKeys()
		}
		if err := u.noteFixes(no); err != nil {
			return err
		}
	}
	return nil
}

// noteFixes notes what one upload corrects.
func (u *uploadRows) noteFixes(no int) error {
	rd, err := u.open(no)
	if err != nil {
		return err
	}
	defer rd.Close()
	u.found = slices.Insert(u.found, 1, rd.Detected())
	for it, err := range rd.Items() {
		if u.ctx.Err() != nil {
			return u.ctx.Err()
		}
		if bad := (*source.RowError)(nil); errors.As(err, &bad) {
			it.Corrects = bad.Corrects
		} else if err != nil {
			return &fileError{no, err}
		} else {
			u.fixed.AddAt(u.how.ID(it.ID), no)
		}
		if it.Corrects != "" {
			u.fixed.AddAt(placeKey(it.Corrects), no)
		}
	}
	return nil
}

// placeOf says where a row is, as the column weir_line has it.
func placeOf(file, line int) string {
	if file <= 1 {
		return fmt.Sprint(line)
	}
	return fmt.Sprintf("%d of file %d", line, file)
}

// placeKey is a place in the set of what is corrected; no id has this form.
func placeKey(place string) string { return "\x00" + place }

// all yields the rows, or what is wrong with them. An error that is not about one row comes last.
func (u *uploadRows) all() iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		n := int64(0)
		for no := 1; no <= len(u.ids); no++ {
			rd, err := u.first, error(nil)
			if no > 1 {
				rd, err = u.open(no)
			}
			u.first, u.now = nil, rd
			if err != nil {
				yield(row{file: no}, err)
				return
			}
			for it, err := range rd.Items() {
				if err == nil {
					n++
					it.ID = u.how.ID(it.ID)
				}
				r := row{it, no, n}
				if u.isCorrected(&r, err) {
					u.corrected++
					continue
				}
				if !yield(r, err) {
					return
				}
			}
			if u.now = nil; rd.Close() != nil {
				continue // it was only read
			}
		}
	}
}

// isCorrected reports whether a row cannot be used, and a later upload corrects it.
func (u *uploadRows) isCorrected(r *row, err error) bool {
	if u.fixed == nil || r.file == len(u.ids) {
		return false
	}
	line, corrects := r.Line, r.Corrects
	if bad := (*source.RowError)(nil); errors.As(err, &bad) {
		line, corrects = bad.Line, bad.Corrects
	} else if err != nil {
		return false
	}
	keys := []string{placeKey(placeOf(r.file, line))}
	if corrects != "" && r.file > 1 {
		keys = append(keys, placeKey(corrects))
	}
	if r.ID != "" {
		keys = append(keys, r.ID)
	}
	later := func(key string) bool { at, found := u.fixed.At(key); return found && at > r.file }
	return slices.ContainsFunc(keys, later) && (err != nil || u.refused(&r.Item) != nil)
}

// refused returns why the first step does not accept a row.
func (u *uploadRows) refused(it *source.Item) error {
	if u.how.Check == nil {
		return nil
	}
	return u.how.Check("", it.ID, u.how.Columns.Rename(it.Data))
}
