package dashboard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
)

// stepMap says what a step receives.
type stepMap struct {
	No           int
	Name, Action string
	Whole        bool // it receives the row as it is
	Rows         []mapRow
}

// mapRow is one member of what a step receives: a column, or an expression.
type mapRow struct {
	Key       string // of its fields
	Member    string
	Hint      string // what the action says about it
	Columns   []choice
	As        []choice
	column    string
	as        string
	Typed     string // an expression of one's own
	Known     bool   // the action names the member
	Necessary bool
	// Offer is a value of the column with a comma, which is no number as the column is read now; empty: none is known.
	Offer string
}

// Expression is the expression of the member, empty if it gets none.
func (r mapRow) Expression() string {
	if r.Typed != "" {
		return r.Typed
	}
	if r.column == "" {
		return ""
	}
	return exprOf(r.column, r.as)
}

// Output is an expression of what the step answers, as an example.
func (m stepMap) Output() string {
	if identifier.MatchString(m.Name) {
		return "steps." + m.Name + ".output.id"
	}
	return fmt.Sprintf("steps[%q].output.id", m.Name)
}

// engineWords are words of the expression engine that tell a manager nothing.
var engineWords = regexp.MustCompile(`^((in line \d+ )?at character \d+: )?(invalid operation: )?`)

// columnOf begins what is wrong with the value of a column.
var columnOf = regexp.MustCompile(`^column [^:]+: `)

// plainly says what is wrong with a row in plain words.
func plainly(code, message string) string {
	if _, what, ok := strings.Cut(message, ": "); ok && code == "expression_failed" && columnOf.MatchString(message) {
		return what // the column is named beside it
	}
	if code == "expression_failed" {
		return "Cannot be made from this row: " + engineWords.ReplaceAllString(message, "")
	}
	return message
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// kinds are what the text of a column can be read as, with the function that does it.
var kinds = []choice{{Value: "", Name: "as it is"}, {Value: "int", Name: "whole number"}, {Value: "float", Name: "number"},
	{Value: commaKind, Name: "number, as 2,5"}}

// commaKind reads 2,5 as two and a half.
const commaKind = "float,"

// withComma matches a number whose comma may be a decimal one.
var withComma = regexp.MustCompile(`^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+$`)

// offer notes which columns that are read as numbers have values with a comma.
func (m *stepMap) offer(bad []api.BadLines) {
	for i := range m.Rows {
		r := &m.Rows[i]
		for _, k := range bad {
			at := slices.IndexFunc(k.Values, func(v string) bool { return withComma.MatchString(strings.TrimSpace(v)) })
			if at >= 0 && r.as == "float" && r.column == k.Field && r.Offer == "" && r.Typed == "" {
				r.Offer = k.Values[at]
			}
		}
	}
}

// exprOf writes the expression of a column.
func exprOf(column, as string) string {
	e := "item." + column
	if !identifier.MatchString(column) {
		quoted, err := json.Marshal(column)
		if err != nil {
			return "" // a text can always be written
		}
		e = "item[" + string(quoted) + "]"
	}
	switch as {
	case "":
		return e
	case commaKind:
		return `float(` + e + `, ",")`
	}
	return as + "(" + e + ")"
}

// schema is what the wizard reads of an action's JSON schema.
type schema struct {
	Properties map[string]struct {
		Type        any
		Title       string
		Description string
		Minimum     *float64
		Maximum     *float64
	}
	Required []string
}

// mapOf makes the fields of what a step receives: the members that are mapped, those that its action names, and some more.
func mapOf(no int, s api.Step, a *api.Action, data *api.DataCheck) stepMap {
	m := stepMap{No: no, Name: cmp.Or(s.ID, s.Action), Action: s.Action, Whole: len(s.Input) == 0}
	var columns []string
	meant := map[string]string{} // the column for a name
	if data != nil {
		columns = data.Columns
		for _, r := range data.Reads {
			meant[r.Name] = cmp.Or(r.Column, r.Suggested)
		}
	}
	var known schema
	if a != nil {
		_ = json.Unmarshal(a.Schema, &known) // a schema may say less, or other things
	}
	members := slices.Sorted(maps.Keys(s.Input))
	for _, name := range slices.Sorted(maps.Keys(known.Properties)) {
		if !slices.Contains(members, name) {
			members = append(members, name)
		}
	}
	for _, name := range append(members, "", "") {
		r := mapRow{Key: fmt.Sprintf("s%d-%d", no, len(m.Rows)), Member: name, Necessary: slices.Contains(known.Required, name)}
		want := ""
		if p, ok := known.Properties[name]; ok {
			r.Known = true
			r.Hint, want = p.Title, fmt.Sprint(p.Type)
			if p.Type != nil {
				r.Hint = joinHint(r.Hint, want)
			}
			if p.Minimum != nil {
				r.Hint = joinHint(r.Hint, "at least "+strconv.FormatFloat(*p.Minimum, 'f', -1, 64))
			}
			if p.Maximum != nil {
				r.Hint = joinHint(r.Hint, "at most "+strconv.FormatFloat(*p.Maximum, 'f', -1, 64))
			}
			if !r.Necessary {
				r.Hint = joinHint(r.Hint, "optional")
			}
		}
		if e, ok := s.Input[name]; ok {
			r.read(e, columns)
		} else if column := meant[name]; column != "" && r.Known {
			r.column, r.as = column, map[string]string{"integer": "int", "number": "float"}[want]
		}
		r.options(columns)
		m.Rows = append(m.Rows, r)
	}
	return m
}

// read finds the column of an expression; another expression stays one.
func (r *mapRow) read(e string, columns []string) {
	for _, c := range columns {
		for _, k := range kinds {
			if exprOf(c, k.Value) == e {
				r.column, r.as = c, k.Value
				return
			}
		}
	}
	r.Typed = e
}

// options makes what can be chosen.
func (r *mapRow) options(columns []string) {
	r.Columns = []choice{{Name: "–", Current: r.column == ""}}
	if r.column != "" && !slices.Contains(columns, r.column) {
		columns = append(slices.Clone(columns), r.column)
	}
	for _, c := range columns {
		r.Columns = append(r.Columns, choice{Value: c, Name: c, Current: c == r.column})
	}
	for _, k := range kinds {
		k.Current = k.Value == r.as
		r.As = append(r.As, k)
	}
}

// complete adds what a form does not send to fields that were typed: what the action says about them, and what can be chosen.
func (m *stepMap) complete(saved *stepMap, columns []string) {
	for i := range m.Rows {
		r := &m.Rows[i]
		at := slices.IndexFunc(saved.Rows, func(s mapRow) bool { return s.Member == r.Member })
		if r.Member != "" && at >= 0 {
			r.Hint, r.Known, r.Necessary = saved.Rows[at].Hint, saved.Rows[at].Known, saved.Rows[at].Necessary
		}
		r.options(columns)
	}
}

// read reads the fields of all steps.
func (p *mappingPage) read(v *visit) (all []stepMap) {
	for i, s := range p.Bulk.Steps {
		m := stepMap{No: i, Name: cmp.Or(s.ID, s.Action), Action: s.Action, Whole: v.FormValue(fmt.Sprintf("s%d", i)) != "fields"}
		for j := range 200 {
			key := fmt.Sprintf("s%d-%d", i, j)
			if _, ok := v.Form[key]; !ok {
				break
			}
			r := mapRow{Key: key, Member: strings.TrimSpace(v.FormValue(key)), column: v.FormValue(key + "-column"), as: v.FormValue(key + "-as"),
				Typed: strings.TrimSpace(v.FormValue(key + "-expression"))}
			if v.FormValue("comma") == key {
				r.as = commaKind
			}
			m.Rows = append(m.Rows, r)
		}
		all = append(all, m)
	}
	return all
}

// input returns the expressions of what a step receives; nothing: the row as it is.
func (m *stepMap) input() map[string]string {
	if m.Whole {
		return nil
	}
	in := map[string]string{}
	for _, r := range m.Rows {
		if e := r.Expression(); r.Member != "" && e != "" {
			in[r.Member] = e
		}
	}
	return in
}

// previewTable is the first rows and what the first step would receive.
type previewTable struct {
	Columns []string
	Rows    []previewRow
	Faults  []string // why there are no more
}

type previewRow struct {
	ID    string
	Cells []string
	Input string
	Fault string
}

// mostColumns is how many columns the preview shows.
const mostColumns = 5

func previewOf(p api.Preview, columns []string, renamed map[string]string) (t previewTable) {
	t.Columns = columns[:min(len(columns), mostColumns)]
	for _, it := range p.Items {
		var data map[string]json.RawMessage
		_ = json.Unmarshal(it.Data, &data) // a row without columns shows its id alone
		r := previewRow{ID: cmp.Or(it.ID, "none"), Input: string(it.Input)}
		for _, c := range t.Columns {
			name := c
			for as, column := range renamed {
				if column == c {
					name = as
				}
			}
			r.Cells = append(r.Cells, plainText(data[name]))
		}
		if len(it.Faults) > 0 {
			r.Fault = inSentences(it.Faults[0].Message, it.Faults[0].Fix)
		}
		t.Rows = append(t.Rows, r)
	}
	for _, f := range p.Faults {
		t.Faults = append(t.Faults, inSentences(f.Message, f.Fix))
	}
	return t
}
