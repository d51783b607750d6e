package command

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/term"
)

// Seq yields what is in a slice, as lists are yielded.
func Seq[T any](all []T) func(func(T, error) bool) {
	return func(yield func(T, error) bool) {
		for _, x := range all {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// rows takes at most limit entries of a list; 0: all. left says that there are more.
func rows[T any](all iter.Seq2[T, error], limit int, each func(*T) error) (left bool, err error) {
	n := 0
	for v, err := range all {
		if err != nil {
			return false, err
		}
		if limit > 0 && n == limit {
			return true, nil
		}
		n++
		if err := each(&v); err != nil {
			return false, err
		}
	}
	return false, nil
}

// Printer writes the results of a command: data to stdout in a format, messages to stderr.
type Printer struct {
	Env *Env
	Out Format
}

// Say writes a message.
func (p *Printer) Say(format string, args ...any) {
	p.Env.Screen().Print("  " + fmt.Sprintf(format, args...))
}

// List writes a list. What can be written as it comes is.
func List[T any](p *Printer, v View[T], all iter.Seq2[T, error], limit int) error {
	var left bool
	var err error
	w := p.Env.Stdout
	switch p.Out {
	case JSON:
		page := api.Page[T]{Data: []T{}}
		left, err = rows(all, limit, func(x *T) error { page.Data = append(page.Data, *x); return nil })
		if err == nil {
			page.HasMore = left
			err = PrintJSON(p.Env, page)
		}
	case NDJSON:
		e := json.NewEncoder(w)
		left, err = rows(all, limit, func(x *T) error { return e.Encode(x) })
	case ID:
		left, err = rows(all, limit, func(x *T) error { _, err := fmt.Fprintln(w, v.ID(x)); return err })
	case CSV:
		left, err = v.csv(w, all, limit)
	default:
		left, err = v.table(p, all, limit)
	}
	if left && err == nil {
		p.Say("more results exist; --limit 0 lists all")
	}
	return err
}

func (v View[T]) csv(to io.Writer, all iter.Seq2[T, error], limit int) (left bool, err error) {
	w := csv.NewWriter(to)
	heads := make([]string, len(v.Columns))
	for i, c := range v.Columns {
		heads[i] = strings.ReplaceAll(c.Head, " ", "_")
	}
	if err := w.Write(heads); err != nil {
		return false, err
	}
	left, err = rows(all, limit, func(x *T) error {
		cells := make([]string, len(v.Columns))
		for i, c := range v.Columns {
			cells[i] = plainText(c.Value(x))
		}
		return w.Write(cells)
	})
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	return left, err
}

func (v View[T]) table(p *Printer, all iter.Seq2[T, error], limit int) (left bool, err error) {
	cells, n := make([]string, len(v.Columns)), 0
	for i, c := range v.Columns {
		cells[i] = strings.ToUpper(c.Head)
	}
	table := term.NewTable(strings.Join(cells, "\t"))
	left, err = rows(all, limit, func(x *T) error {
		n++
		for i, c := range v.Columns {
			value := c.Value(x)
			if text, ok := value.(Whole); ok {
				cells[i] = ruly(string(text))
			} else {
				cells[i] = Cell(People(value))
			}
		}
		table.Row("%s", strings.Join(cells, "\t"))
		return nil
	})
	if err != nil {
		return false, err
	}
	if n == 0 {
		p.Say("no %s", cmp.Or(v.Plural, "results"))
		return false, nil
	}
	return left, table.Print(p.Env.Stdout)
}

// Whole is a text that a table shows to its end: a sentence in the last column.
type Whole string

// ruly leaves the terminal its own.
func ruly(s string) string {
	return strings.Map(func(r rune) rune {
		if term.Unruly(r) {
			return ' '
		}
		return r
	}, s)
}

// Cell keeps a value within its cell and the terminal its own.
func Cell(s string) string {
	s = ruly(s)
	if r := []rune(s); len(r) > maxCell {
		s = string(r[:maxCell-1]) + "…"
	}
	return s
}

// maxCell is the most characters of a cell; the other formats have all of it.
const maxCell = 60

// One writes one thing.
func One[T any](p *Printer, v View[T], x T) error {
	switch p.Out {
	case JSON:
		return PrintJSON(p.Env, x)
	case Table:
		return v.detail(p.Env, &x)
	case NDJSON, CSV, ID:
	}
	return List(p, v, Seq([]T{x}), 0)
}

// detail shows a thing with a line for each property that it has.
func (v View[T]) detail(env *Env, x *T) error {
	p, _ := Outward(env)
	wide := 0
	all := append(append([]Column[T]{}, v.Columns...), v.More...)
	for _, c := range all {
		wide = max(wide, len(c.Head))
	}
	for _, c := range all {
		text := People(c.Value(x))
		if text == "" {
			continue
		}
		if _, err := fmt.Fprintf(env.Stdout, "  %s  %s\n", p.Dim(term.Pad(c.Head, wide)),
			term.TameText(text, strings.Repeat(" ", wide+4))); err != nil {
			return err
		}
	}
	return nil
}

// People writes a value to be read.
func People(v any) string {
	switch x := v.(type) {
	case int:
		return term.Number(x)
	case int64:
		return term.Number(x)
	case api.Duration:
		if x == 0 {
			return ""
		}
		return term.Span(time.Duration(x))
	case time.Time:
		if x.IsZero() {
			return ""
		}
		return x.UTC().Format("2006-01-02 15:04:05Z")
	case float64:
		return term.Figure(&x)
	case bool:
		if !x {
			return ""
		}
		return "yes"
	}
	return plainText(v)
}

// plainText writes a value for programs.
func plainText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case time.Time:
		if x.IsZero() {
			return ""
		}
		return x.UTC().Format(time.RFC3339)
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case []string:
		return strings.Join(x, ",")
	case json.RawMessage:
		return string(x)
	}
	return fmt.Sprint(v)
}

// Indented is JSON as it came, with lines and spaces for people.
func Indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, bytes.TrimSpace(raw), "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
