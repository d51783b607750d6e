package dashboard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir/api"
)

// readRow is a name that the steps of a template read, with the column that holds it.
type readRow struct {
	Key     string // of its field
	Name    string
	Missing bool
	Columns []choice
}

// readsOf makes the fields of the names that a template reads.
func readsOf(c *api.DataCheck) (rows []readRow) {
	for i, r := range c.Reads {
		row := readRow{Key: fmt.Sprintf("c%d", i), Name: r.Name, Missing: r.Column == ""}
		row.Columns = []choice{{Name: "not in the data", Current: r.Column == ""}}
		for _, column := range c.Columns {
			row.Columns = append(row.Columns, choice{Name: column, Value: column, Current: column == r.Column})
		}
		rows = append(rows, row)
	}
	return rows
}

// choose makes columns that were chosen the current ones.
func choose(rows []readRow, chosen map[string]string) {
	for i := range rows {
		r := &rows[i]
		want, ok := chosen[r.Name]
		if !ok {
			want = r.Name
		}
		r.Missing = true
		for j := range r.Columns {
			c := &r.Columns[j]
			if c.Current = c.Value == want; c.Current {
				r.Missing = false
			}
		}
	}
}

// chosen reads which columns were chosen for the names that a template reads. A column of the same name needs no choice.
func chosen(v *visit) map[string]string {
	out := map[string]string{}
	for i := range 200 {
		name := v.FormValue(fmt.Sprintf("c%d-name", i))
		if name == "" {
			break
		}
		if column := v.FormValue(fmt.Sprintf("c%d", i)); column != "" && column != name {
			out[name] = column
		}
	}
	return out
}

// Lacks says which columns the template reads and the data does not have, empty if it has all.
func (w *wizard) Lacks() string {
	if w.Own() || w.Check == nil || len(w.Check.Columns) == 0 {
		return ""
	}
	var names []string
	for _, r := range w.Check.Reads {
		if r.Column == "" {
			names = append(names, r.Name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "The template reads the column " + names[0] + ", and the data has no column of this name."
	}
	return fmt.Sprintf("The template reads the columns %s and %s, and the data has none of these names.",
		strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}

// NoRows reports whether the data was read and has no rows.
func (w *wizard) NoRows() bool {
	return w.Check != nil && w.Check.Rows == 0 && w.Check.Complete && len(w.Check.Faults) == 0
}

// match checks the data of a draft and chooses the columns that its steps probably mean, as E-Mail for email.
func (v *visit) match(ctx context.Context, w *wizard) error {
	if err := v.check(ctx, w, 1); err != nil || w.Check == nil {
		return err
	}
	if !w.Own() {
		columns := matched(w)
		if maps.Equal(columns, w.Draft.Columns) {
			return nil
		}
		return v.describe(ctx, w, func(n *api.NewBulkAction) { n.Columns = columns })
	}
	actions, err := v.actionsOf(ctx, w)
	if err != nil {
		return err
	}
	steps, changed := slices.Clone(w.Draft.Steps), false
	for i := range steps {
		if m := mapOf(i, steps[i], actions[steps[i].Action], w.Check); m.Whole && m.differs(w.Check.Format) {
			m.Whole, changed = false, true
			steps[i].Input = m.input()
		}
	}
	if !changed {
		return nil
	}
	return v.describe(ctx, w, func(n *api.NewBulkAction) { n.Steps = steps })
}

// matched returns the columns of a draft of a template for data that has just arrived: those that were chosen before, as far as
// the data has them, and those that are suggested.
func matched(w *wizard) map[string]string {
	out := map[string]string{}
	for _, r := range w.Check.Reads {
		column := r.Suggested
		if r.Column != "" {
			column = r.Column
		}
		if column != "" && column != r.Name {
			out[r.Name] = column
		}
	}
	return out
}

// differs reports whether a row would have to be mapped to be what the action's schema says: a member has another name, or is
// a number, which a table holds as text.
func (m *stepMap) differs(kind string) bool {
	return slices.ContainsFunc(m.Rows, func(r mapRow) bool {
		return r.Known && r.column != "" && (r.column != r.Member || r.as != "" && kind == "csv")
	})
}

// actionsOf reads the actions of a draft's steps, as far as they exist.
func (v *visit) actionsOf(ctx context.Context, w *wizard) (map[string]*api.Action, error) {
	out := map[string]*api.Action{}
	for _, s := range w.Bulk.Steps {
		if a, err := v.api.Actions().Get(ctx, s.Action); err == nil {
			out[s.Action] = &a
		} else if refusal(err) == nil {
			return nil, err
		}
	}
	return out, nil
}

// otherValues returns the values of bad rows of one kind that its message does not quote.
func otherValues(k api.BadLines) []string {
	return slices.DeleteFunc(slices.Clone(k.Values), func(v string) bool { return strings.Contains(k.Message, fmt.Sprintf("%q", v)) })
}
