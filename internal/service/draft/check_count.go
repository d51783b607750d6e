package draft

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/edge/source"
)

// counting counts rows.
type counting struct {
	out   api.DataCheck
	how   HowToAppend
	all   bool // duplicates are used
	ids   sameIDs
	kinds map[string]*api.BadLines
}

// mostAlike is how many ids that are alike are shown.
const mostAlike = 3

// add counts a row of a file: err says what is wrong with it.
func (c *counting) add(it source.Item, file int, err error) {
	c.out.Rows++
	if len(c.out.Columns) == 0 && err == nil {
		c.out.Columns = membersOf(it.Data)
	}
	it.ID, it.Data = c.how.ID(it.ID), c.how.Columns.Rename(it.Data)
	if err == nil && c.how.Check != nil {
		err = c.how.Check("", it.ID, it.Data)
	}
	if err != nil {
		f := c.how.faultOf(it, err)
		if file > 1 {
			f.File = int64(file)
		}
		c.bad(f)
		return
	}
	same, repeats := c.ids.add(it.ID, file, it.Line)
	switch {
	case repeats && !c.all:
		if c.out.Duplicates++; len(c.out.Repeated) < checkFaults {
			c.out.Repeated = append(c.out.Repeated, same)
		}
		return
	case !repeats && same.ID != "":
		if c.out.Alike++; len(c.out.AlikeRows) < mostAlike {
			c.out.AlikeRows = append(c.out.AlikeRows, same)
		}
	}
	c.out.Items++
}

// refused counts the rows of a page that are no items.
func (c *counting) refused(page *feed.Page) {
	for _, r := range page.Refused {
		if len(c.out.Columns) == 0 {
			c.out.Columns = membersOf(r.Doc)
		}
		c.add(source.Item{}, 1, &source.RowError{Code: r.Why.Code, Problem: r.Why.Problem, Fix: r.Why.Fix})
	}
	more := page.Bad - int64(len(page.Refused))
	c.out.Rows, c.out.BadLines = c.out.Rows+more, c.out.BadLines+more
}

// bad counts a bad line.
func (c *counting) bad(f api.Fault) {
	c.out.BadLines++
	if len(c.out.Faults) < checkFaults {
		c.out.Faults = append(c.out.Faults, f)
	}
	key := f.Code + " " + f.Field + " " + f.Fix // messages may quote a value
	k := c.kinds[key]
	if k == nil {
		if len(c.kinds) == checkKinds*10 { // fields of JSON may be anything
			return
		}
		k = &api.BadLines{Code: f.Code, Field: f.Field, Message: f.Message, Fix: f.Fix, Line: f.Line, File: f.File}
		c.kinds[key] = k
	}
	k.Count++
	if f.Value != "" && len(k.Values) < 3 && !slices.Contains(k.Values, f.Value) {
		k.Values = append(k.Values, f.Value)
	}
}

func (c *counting) result() api.DataCheck {
	out := c.out
	out.Kinds = []api.BadLines{}
	for _, key := range slices.Sorted(maps.Keys(c.kinds)) {
		out.Kinds = append(out.Kinds, *c.kinds[key])
	}
	slices.SortStableFunc(out.Kinds, func(a, b api.BadLines) int { return int(b.Count - a.Count) })
	out.Kinds = out.Kinds[:min(len(out.Kinds), checkKinds)]
	if out.Faults == nil {
		out.Faults = []api.Fault{}
	}
	if out.Columns == nil {
		out.Columns = []string{}
	}
	return out
}

// faultOf says what is wrong with a row that was renamed, with the columns that the data has.
func (h *HowToAppend) faultOf(it source.Item, err error) api.Fault {
	f := faultOf(it, err)
	column, renamed := h.Columns[f.Field]
	if row := (*source.RowError)(nil); !renamed || errors.As(err, &row) {
		return f
	}
	if rest, ok := strings.CutPrefix(f.Message, inColumn(f.Field)); ok {
		f.Message = inColumn(column) + rest
	}
	f.Field = column
	return f
}

// inColumn begins the problem of an expression that fails for the value of a column.
func inColumn(name string) string { return "column " + name + ": " }

// faultOf says what is wrong with a row.
func faultOf(it source.Item, err error) api.Fault {
	f := api.Fault{Line: int64(it.Line), Message: err.Error()}
	var row *source.RowError
	var field *weir.FieldError
	var item *mapping.ItemError
	switch {
	case errors.As(err, &row):
		return api.Fault{Code: row.Code, Field: row.Field, Line: int64(row.Line), Column: int64(row.Column), Value: row.Value,
			Message: row.Problem, Fix: row.Fix}
	case errors.As(err, &item):
		f.Code, f.Field, f.Message, f.Fix, f.Value = item.Code, item.Column, item.Problem, item.Fix, item.Value
		if f.Field == "" {
			f.Field = memberIn(item.Field)
		} else if f.Value == "" {
			f.Value = valueAt(it.Data, f.Field)
		}
	case errors.As(err, &field):
		f.Code, f.Field, f.Message, f.Fix = field.Code, memberIn(field.Field), field.Problem, field.Fix
		f.Value = valueAt(it.Data, f.Field)
	}
	return f
}

// memberIn returns the member that a fault of an input is about.
func memberIn(field string) string {
	return strings.TrimPrefix(strings.TrimPrefix(field, ", input"), ".")
}

// valueAt returns a member of a document as text, cut; empty if it has none of that name.
func valueAt(doc []byte, member string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(doc, &members) != nil {
		return ""
	}
	var text string
	if raw := members[member]; json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	return text
}

// membersOf returns the names of a document's members, sorted.
func membersOf(doc []byte) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(doc, &members) != nil {
		return nil
	}
	names := slices.Sorted(maps.Keys(members))
	return names[:min(len(names), checkColumns)]
}
