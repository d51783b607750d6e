package draft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/service/stored"
)

const (
	checkRows    = 5_000_000 // of an upload; 23 bytes of memory for each
	checkSource  = 10_000    // of a source that others serve
	checkFaults  = 1000
	checkKinds   = 20
	checkedFor   = 10 * time.Minute // the schema of the first action may change
	mostChecked  = 64
	checkColumns = 200
)

// Checks reads the rows of drafts without adding them, to tell which can be used.
type Checks struct {
	*kept
	*files
	*rules
	*Appends
	mu  sync.Mutex
	had map[checkedAs]checked // a description and its data do not change without the version
}

type checkedAs struct{ id, version, add, replace string }

type checked struct {
	api.DataCheck
	at time.Time
}

// Checking says what a check reads.
type Checking struct {
	// Faults bounds how many bad rows are listed, and how many duplicates.
	Faults int
	// Add is an upload that is read after the data of the draft, Replace one that is read instead of it. At most one is set.
	Add, Replace string
	By           string // id of the API key
}

// Check tells which rows of a draft can be used, or could be with other data.
func (s *Checks) Check(ctx context.Context, id string, c Checking) (api.DataCheck, error) {
	e, err := s.drafts.Get(ctx, id)
	if err != nil {
		return api.DataCheck{}, s.submittedAlready(ctx, id, err)
	}
	d, key := &e.Value, checkedAs{id, e.Version, c.Add, c.Replace}
	if err := s.with(ctx, d, &c); err != nil {
		return api.DataCheck{}, err
	}
	out, known := s.known(key)
	if !known {
		if out, err = s.check(ctx, id, d); err != nil {
			return out, err
		}
		if d.Spec.Source != nil && d.Spec.Source.Upload != "" { // what others serve may change
			s.keep(key, out)
		}
	}
	out.Faults = out.Faults[:min(len(out.Faults), c.Faults)]
	out.Repeated = out.Repeated[:min(len(out.Repeated), c.Faults)]
	return out, nil
}

// with gives a draft that is checked other data.
func (s *Checks) with(ctx context.Context, d *Draft, c *Checking) error {
	field, file := "add", c.Add
	switch {
	case c.Add != "" && c.Replace != "":
		return &weir.FieldError{Code: "bad_value", Field: "add", Problem: "cannot be combined with replace", Fix: "leave one of them out"}
	case c.Replace != "":
		field, file = "replace", c.Replace
		d.Spec.Source = &stored.Source{Upload: file}
	case c.Add != "" && (d.Spec.Source == nil || d.Spec.Source.Upload == ""):
		return &weir.FieldError{Code: "bad_value", Field: "add", Problem: "needs a draft that reads an upload", Fix: "use replace"}
	case c.Add != "":
		more := *d.Spec.Source
		more.Added = append(slices.Clone(more.Added), file)
		d.Spec.Source = &more
	default:
		return nil
	}
	return s.checkUpload(ctx, field, file, d.Tenant, c.By)
}

func (s *Checks) known(key checkedAs) (api.DataCheck, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	had, ok := s.had[key]
	return had.DataCheck, ok && time.Since(had.at) < checkedFor
}

func (s *Checks) keep(key checkedAs, c api.DataCheck) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.had == nil || len(s.had) >= mostChecked {
		s.had = map[checkedAs]checked{}
	}
	s.had[key] = checked{c, time.Now()}
}

func (s *Checks) check(ctx context.Context, id string, d *Draft) (api.DataCheck, error) {
	c := &counting{how: s.howTo(d), all: d.Spec.Duplicates == "keep_all", kinds: map[string]*api.BadLines{}}
	var err error
	switch {
	case d.Spec.Source == nil:
		var sum Sum
		sum, err = s.Sum(ctx, id)
		c.out = api.DataCheck{Rows: sum.rows(), Items: sum.Items, Duplicates: sum.Duplicates, BadLines: sum.BadLines, Complete: true}
	case d.Spec.Source.Upload != "":
		err = s.readUpload(ctx, d, c)
	default:
		err = s.readFirst(ctx, d, c)
	}
	c.out.Reads = readsOf(s.Appends.chains.Reads(d.Spec.Steps), c.out.Columns, d.Spec.Columns)
	return c.result(), err
}

// readsOf finds the columns that hold the names that steps read.
func readsOf(names, columns []string, chosen map[string]string) []api.Read {
	out := []api.Read{}
	for _, name := range names {
		r := api.Read{Name: name, Column: cmp.Or(chosen[name], name)}
		if !slices.Contains(columns, r.Column) {
			r.Column, r.Suggested = "", near.Alike(name, columns)
		}
		out = append(out, r)
	}
	return out
}

// readUpload counts the rows of the uploads of a draft.
func (s *Checks) readUpload(ctx context.Context, d *Draft, c *counting) error {
	for i, id := range d.Spec.Source.Uploads() {
		f, err := s.uploads.Get(ctx, id)
		if err != nil {
			return unknownUpload(uploadField(i+1), id)
		}
		name := f.Meta["filename"]
		if i == 0 {
			c.out.Name = name
		}
		c.out.Bytes += f.Size
		c.out.Uploads = append(c.out.Uploads, api.RowsOf{Name: name})
	}
	rows, err := openRows(ctx, s.uploads, d.Spec.Source, &c.how, source.Options{})
	if bad := (*fileError)(nil); errors.As(err, &bad) && bad.file == 1 {
		return s.unopened(ctx, d, c, bad.err)
	}
	if err != nil {
		return unusable(1, err)
	}
	defer rows.Close()
	found := rows.found[0]
	c.out.Format, c.out.ItemID, c.out.Columns = string(found.Format), rows.opts.IDColumn, columnsOf(found)
	c.out.Complete = true
	for i := range rows.found {
		c.out.Uploads[i].List = isList(rows.found[i])
	}
	for it, err := range rows.all() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if bad := (*source.RowError)(nil); err != nil && !errors.As(err, &bad) {
			return unusable(it.file, err)
		}
		if c.out.Rows == checkRows {
			c.out.Complete = false
			break
		}
		c.out.Uploads[it.file-1].Rows++
		c.add(it.Item, it.file, err)
	}
	if err := s.compare(ctx, d, c); err != nil {
		return err
	}
	if c.out.Corrected = rows.corrected; len(rows.found) == 1 {
		c.out.Uploads = nil
	}
	return nil
}

// isList reports whether a file is a corrected list of bad rows.
func isList(found source.Detected) bool { return slices.Contains(found.Columns, source.NoteColumns[0]) }

// columnsOf returns the columns that items can have, without those of a list of bad rows.
func columnsOf(found source.Detected) []string {
	columns := found.Columns
	if isList(found) {
		columns = slices.DeleteFunc(slices.Clone(columns), func(c string) bool {
			return c != found.IDColumn && slices.Contains(source.NoteColumns[:], c)
		})
	}
	return columns[:min(len(columns), checkColumns)]
}

// unopened tells why a file cannot be read as a draft says. A file that has no such id column can be read with another one: its
// columns are told.
func (s *Checks) unopened(ctx context.Context, d *Draft, c *counting, why error) error {
	r, err := s.uploads.Reader(ctx, d.Spec.Source.Upload)
	if err != nil {
		return err
	}
	rd, err := source.Open(r, c.out.Name, source.Options{AnyID: true})
	if row := (*source.RowError)(nil); err != nil || !errors.As(why, &row) {
		return unusable(1, why)
	}
	defer rd.Close()
	found := rd.Detected()
	c.out.Format, c.out.Columns = string(found.Format), columnsOf(found)
	c.out.Faults = []api.Fault{faultOf(source.Item{}, why)}
	return nil
}

// unusable says that a file cannot be read, at the field that names it. It is given by its number, unless the error has it.
func unusable(no int, err error) error {
	if bad := (*fileError)(nil); errors.As(err, &bad) {
		no = bad.file
	}
	out := &weir.FieldError{Code: "bad_source", Field: uploadField(no), Problem: err.Error(), Fix: "upload a corrected file"}
	var input *source.InputError
	var row *source.RowError
	switch {
	case errors.As(err, &input):
		out.Code, out.Problem, out.Fix = input.Code, input.Problem, input.Fix
		if input.Line > 0 {
			out.Problem = fmt.Sprintf("line %d: %s", input.Line, input.Problem)
		}
	case errors.As(err, &row):
		out.Code, out.Problem, out.Fix = row.Code, fmt.Sprintf("line %d: %s", row.Line, row.Problem), row.Fix
	}
	return out
}

// readFirst counts the first items of a source.
func (s *Checks) readFirst(ctx context.Context, d *Draft, c *counting) error {
	all := *d
	all.Spec.OnBadLine = "record" // rows that cannot be used are told, whatever is done with them
	f, err := s.openRaw(&all)
	if err != nil {
		return err
	}
	defer f.Close()
	for at := feed.Cursor(""); c.out.Rows < checkSource; {
		page, err := f.Read(ctx, at)
		if err != nil {
			return Unread(d.Spec.Source, err)
		}
		for _, it := range page.Items {
			c.add(source.Item{ID: it.ID, Data: it.Value}, 1, nil)
		}
		c.refused(&page)
		if page.Last {
			c.out.Complete = true
			break
		}
		at = page.Next
	}
	if id := idOfSource(&d.Spec); slices.Contains(c.out.Columns, id) {
		c.out.ItemID = id
	}
	return nil
}

// idOfSource returns the column that holds the ids of a source, empty if that is found out as it is read.
func idOfSource(spec *stored.Spec) string {
	switch from := spec.Source; {
	case spec.IDColumn() != "":
		return spec.IDColumn()
	case from.Postgres != nil:
		return from.Postgres.Key
	case from.Segment != nil, from.Kafka != nil && !from.Kafka.IDFromKey:
		return "id"
	}
	return ""
}
