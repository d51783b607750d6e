package cli

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
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
)

// output is the format of data on stdout.
type output string

// The formats. JSON is the API's own shape.
const (
	outTable  output = "table"
	outJSON   output = "json"
	outNDJSON output = "ndjson"
	outCSV    output = "csv"
	outID     output = "id"
)

func (o *output) bind(fs *pflag.FlagSet) {
	*o = outTable
	fs.VarP(o, "output", "o", "table, json, ndjson, csv or id")
}

// Set implements pflag.Value.
func (o *output) Set(s string) error {
	switch x := output(s); x {
	case outTable, outJSON, outNDJSON, outCSV, outID:
		*o = x
		return nil
	}
	return fmt.Errorf("%q is not a format; use table, json, ndjson, csv or id", s)
}

// String implements pflag.Value.
func (o *output) String() string { return string(*o) }

// Type implements pflag.Value.
func (*output) Type() string { return "FORMAT" }

// column is one property of what is listed.
type column[T any] struct {
	head  string
	value func(*T) any
}

// view says how objects of a kind are shown: the id, the columns of a list, and the extra rows of a single object.
type view[T any] struct {
	plural  string // what they are called; empty: results
	id      func(*T) string
	columns []column[T]
	more    []column[T]
}

// seq yields what is in a slice, as lists are yielded.
func seq[T any](all []T) func(func(T, error) bool) {
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

// list writes a list. What can be written as it comes is.
func list[T any](l *link, v view[T], all iter.Seq2[T, error], limit int) error {
	var left bool
	var err error
	w := l.env.Stdout
	switch l.out {
	case outJSON:
		page := api.Page[T]{Data: []T{}}
		left, err = rows(all, limit, func(x *T) error { page.Data = append(page.Data, *x); return nil })
		if err == nil {
			page.HasMore = left
			err = printJSON(l.env, page)
		}
	case outNDJSON:
		e := json.NewEncoder(w)
		left, err = rows(all, limit, func(x *T) error { return e.Encode(x) })
	case outID:
		left, err = rows(all, limit, func(x *T) error { _, err := fmt.Fprintln(w, v.id(x)); return err })
	case outCSV:
		left, err = v.csv(w, all, limit)
	default:
		left, err = v.table(l, all, limit)
	}
	if left && err == nil {
		l.say("more results exist; --limit 0 lists all")
	}
	return err
}

func (v view[T]) csv(to io.Writer, all iter.Seq2[T, error], limit int) (left bool, err error) {
	w := csv.NewWriter(to)
	heads := make([]string, len(v.columns))
	for i, c := range v.columns {
		heads[i] = strings.ReplaceAll(c.head, " ", "_")
	}
	if err := w.Write(heads); err != nil {
		return false, err
	}
	left, err = rows(all, limit, func(x *T) error {
		cells := make([]string, len(v.columns))
		for i, c := range v.columns {
			cells[i] = plainText(c.value(x))
		}
		return w.Write(cells)
	})
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	return left, err
}

func (v view[T]) table(l *link, all iter.Seq2[T, error], limit int) (left bool, err error) {
	var b strings.Builder
	w, n := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0), 0
	for _, c := range v.columns {
		fmt.Fprintf(w, "%s\t", strings.ToUpper(c.head))
	}
	fmt.Fprintln(w)
	left, err = rows(all, limit, func(x *T) error {
		n++
		for _, c := range v.columns {
			v := c.value(x)
			if text, ok := v.(whole); ok {
				fmt.Fprintf(w, "%s\t", ruly(string(text)))
				continue
			}
			fmt.Fprintf(w, "%s\t", cell(people(v)))
		}
		fmt.Fprintln(w)
		return nil
	})
	if err != nil {
		return false, err
	}
	if n == 0 {
		l.say("no %s", cmp.Or(v.plural, "results"))
		return false, nil
	}
	if err := w.Flush(); err != nil {
		return false, err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(l.env.Stdout, strings.TrimRight(line, " \n")); err != nil {
			return false, err
		}
	}
	return left, nil
}

// whole is a text that a table shows to its end: a sentence in the last column.
type whole string

// ruly leaves the terminal its own.
func ruly(s string) string {
	return strings.Map(func(r rune) rune {
		if unruly(r) {
			return ' '
		}
		return r
	}, s)
}

// cell keeps a value within its cell and the terminal its own.
func cell(s string) string {
	s = ruly(s)
	if r := []rune(s); len(r) > maxCell {
		s = string(r[:maxCell-1]) + "…"
	}
	return s
}

// maxCell is the most characters of a cell; the other formats have all of it.
const maxCell = 60

// one writes one thing.
func one[T any](l *link, v view[T], x T) error {
	switch l.out {
	case outJSON:
		return printJSON(l.env, x)
	case outTable:
		return v.detail(l.env, &x)
	case outNDJSON, outCSV, outID:
	}
	return list(l, v, seq([]T{x}), 0)
}

// detail shows a thing with a line for each property that it has.
func (v view[T]) detail(env *Env, x *T) error {
	p, _ := outward(env)
	wide := 0
	all := append(append([]column[T]{}, v.columns...), v.more...)
	for _, c := range all {
		wide = max(wide, len(c.head))
	}
	for _, c := range all {
		text := people(c.value(x))
		if text == "" {
			continue
		}
		if _, err := fmt.Fprintf(env.Stdout, "  %s  %s\n", p.dim(pad(c.head, wide)), tameText(text, strings.Repeat(" ", wide+4))); err != nil {
			return err
		}
	}
	return nil
}

// people writes a value to be read.
func people(v any) string {
	switch x := v.(type) {
	case int:
		return number(x)
	case int64:
		return number(x)
	case api.Duration:
		if x == 0 {
			return ""
		}
		return span(time.Duration(x))
	case time.Time:
		if x.IsZero() {
			return ""
		}
		return x.UTC().Format("2006-01-02 15:04:05Z")
	case float64:
		return figure(&x)
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
		return strconv.FormatFloat(x, 'g', 4, 64)
	case []string:
		return strings.Join(x, ",")
	case json.RawMessage:
		return string(x)
	}
	return fmt.Sprint(v)
}

// limitFlag bounds a list.
func limitFlag(fs *pflag.FlagSet, n int) *int {
	return fs.Int("limit", n, "list at most `N`; 0 is all")
}

// indented is JSON as it came, with lines and spaces for people.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, bytes.TrimSpace(raw), "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
