package spec

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/report"
)

// shownFaults limits how many bad rows an error lists; the rest is counted.
const shownFaults = 20

// Input reads the items of one file, once, and counts what it sees. The counts
// may be read by any goroutine.
type Input struct {
	Name       string
	Reader     *source.Reader
	duplicates config.DuplicateRule
	invalid    config.InvalidRule
	lists      RowLists
	keys       *source.Keys
	Rows       atomic.Int64 // items, duplicates and invalid rows
	Items      atomic.Int64
	Repeated   atomic.Int64
	Bad        atomic.Int64
	faults     []string
	repeats    []string // the first rows whose id came before
	fold       bool     // ids are the same regardless of capitals
	Unasked    bool     // no rule for duplicates was given: many of them refuse the input
	Template   string   // that sets the rule for duplicates; empty: flags do
	Resend     bool     // duplicates are passed on, for a server that leaves them out and counts them
}

// Many repeated ids mean that the id column is not one, unless the rule for
// duplicates was given.
const (
	manyRepeats = 10  // more rows than this
	manyPercent = 1.0 // and a larger part of all rows than this
	shownRepeat = 3   // rows that an error lists
)

// RowLists takes down the rows that do not become items.
type RowLists interface {
	Duplicate(report.Duplicate) error
	Invalid(report.Invalid) error
}

// OpenInput opens the file, or stdin for "-".
func OpenInput(env *command.Env, o *InputOptions, lists RowLists) (*Input, error) {
	opts := source.Options{
		Format: source.Format(o.Format), Encoding: o.Encoding, IDColumn: o.ID, Limit: o.Limit,
		MaxItem: weir.MaxItemBytes, MaxID: weir.MaxIDBytes,
	}
	var err error
	if opts.Delimiter, err = delimiter(o.Delimiter); err != nil {
		return nil, err
	}
	in := &Input{Name: inputName(o.Input), duplicates: o.Duplicates, invalid: o.Invalid, fold: o.FoldIDs, lists: lists, Unasked: o.Duplicates == ""}
	if in.duplicates != config.KeepAll {
		in.keys = source.NewPlacedKeys()
	}
	if o.Input == "-" {
		if env.StdinTerminal {
			return nil, command.BadUsage("pipe it in, as in  cat users.csv | "+env.Program+" run -",
				"stdin is a terminal: no input is piped in")
		}
		in.Reader, err = source.Open(env.Stdin, "stdin", opts)
	} else {
		if err := checkFile(env.Path(o.Input), o.Input); err != nil {
			return nil, err
		}
		in.Reader, err = source.OpenFile(env.Path(o.Input), opts)
	}
	if err != nil {
		return nil, named(in.Name, err)
	}
	return in, nil
}

func inputName(path string) string {
	if path == "-" {
		return "stdin"
	}
	return filepath.Base(path)
}

// named puts the file before what is wrong with one of its lines.
func named(name string, err error) error {
	if row, ok := errors.AsType[*source.RowError](err); ok {
		c := *row
		c.Fix = ""
		return command.BadUsage(row.Fix, "%s: %s", name, c.Error())
	}
	if in, ok := errors.AsType[*source.InputError](err); ok {
		in.Name = name
	}
	return err
}

func delimiter(s string) (rune, error) {
	switch r := []rune(s); {
	case s == "":
		return 0, nil
	case s == `\t` || s == "tab":
		return '\t', nil
	case len(r) == 1:
		return r[0], nil
	}
	return 0, command.BadUsage(`write one character, as in --delimiter ";", or tab`, "--delimiter: %q is not one character", s)
}

// checkFile finds out early what a reader would only stumble over.
func checkFile(path, shown string) error {
	st, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return command.BadUsage("check the spelling; the path is taken from the working directory", "%s: file not found", shown)
	case err != nil:
		return command.BadUsage("", "%s: cannot be opened: %v", shown, err)
	case st.IsDir():
		return command.BadUsage("name a file in it", "%s is a directory", shown)
	case st.Mode().IsRegular() && st.Size() == 0:
		return command.BadUsage("items are rows of CSV, lines of JSON, or a JSON array", "%s is empty", shown)
	}
	return nil
}

// All streams the items. After the last one, finish is called: what it does is
// durable before the items are accepted.
func (in *Input) All(finish func() error) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		for it, err := range in.Reader.Items() {
			ok, err := in.take(&it, err)
			if err == nil && !ok {
				continue
			}
			if !yield(weir.RawItem{ID: it.ID, Value: it.Data}, err) || err != nil {
				return
			}
		}
		err := in.verdict()
		if err == nil {
			err = finish()
		}
		if err != nil {
			yield(weir.RawItem{}, err)
		}
	}
}

// take decides about one row: whether it becomes an item, or an error that ends everything.
func (in *Input) take(it *source.Item, err error) (ok bool, _ error) {
	if err != nil {
		row, bad := errors.AsType[*source.RowError](err)
		if !bad {
			return false, named(in.Name, err)
		}
		in.Rows.Add(1)
		in.Bad.Add(1)
		return false, in.fault(row)
	}
	in.Rows.Add(1)
	if in.fold {
		it.ID = source.FoldID(it.ID)
	}
	if in.keys != nil {
		if first, fresh := in.keys.AddAt(it.ID, it.Line); !fresh {
			in.Repeated.Add(1)
			return in.Resend && !in.refused(), in.repeat(it, first)
		}
	}
	in.Items.Add(1)
	return !in.refused(), nil // once refused, the rest is only looked at
}

func (in *Input) fault(row *source.RowError) error {
	if len(in.faults) < shownFaults && in.invalid != config.SkipInvalid {
		in.faults = append(in.faults, row.Error())
	}
	return in.lists.Invalid(report.Invalid{
		Line: row.Line, Column: row.Column, Code: row.Code, Field: row.Field, Value: row.Value, Problem: row.Problem, Fix: row.Fix,
	})
}

func (in *Input) repeat(it *source.Item, first int) error {
	shown := fmt.Sprintf("line %d: duplicate id %q, first seen on line %d", it.Line, it.ID, first)
	if len(in.repeats) < shownRepeat {
		in.repeats = append(in.repeats, shown)
	}
	if len(in.faults) < shownFaults && in.duplicates == config.RefuseDuplicates {
		in.faults = append(in.faults, shown)
	}
	return in.lists.Duplicate(report.Duplicate{Line: it.Line, ID: it.ID, FirstLine: first})
}

// refused says whether the input as a whole is turned down.
func (in *Input) refused() bool { return len(in.faults) > 0 }

// verdict is the error that refuses the input, or nil.
func (in *Input) verdict() error {
	if in.Items.Load() == 0 && !in.refused() {
		return command.BadUsage("give it at least one item", "%s has no items", in.Name)
	}
	if !in.refused() {
		return in.suspicion()
	}
	var what []string
	if n := in.Bad.Load(); n > 0 && in.invalid != config.SkipInvalid {
		what = append(what, term.Plural(n, "row is invalid", "rows are invalid"))
	}
	if n := in.Repeated.Load(); n > 0 && in.duplicates == config.RefuseDuplicates {
		what = append(what, term.Plural(n, "row repeats an id", "rows repeat an id"))
	}
	return command.Fail(command.ExitUsage, in.Name+": "+term.JoinAnd(what)+", so nothing was accepted"+in.listFaults(), in.waysOut())
}

// suspicion refuses an input in which many ids repeat, unless the rule for duplicates was given.
func (in *Input) suspicion() error {
	n, rows := in.Repeated.Load(), in.Rows.Load()
	if !in.Unasked || n <= manyRepeats || float64(n) <= manyPercent/100*float64(rows) {
		return nil
	}
	d := in.Reader.Detected()
	text := fmt.Sprintf("%s: %s of %s repeat an id in %q, so nothing was accepted\n%s", in.Name, term.Number(n),
		term.Plural(rows, "row", "rows"), d.IDColumn, strings.Join(in.repeats, "\n"))
	if more := n - int64(len(in.repeats)); more > 0 {
		text += fmt.Sprintf("\n… and %s more", term.Number(more))
	}
	fix := "name the column that identifies an item with --id"
	if len(d.Columns) > 0 {
		fix += fmt.Sprintf(" (found %s)", strings.Join(d.Columns, ", "))
	}
	return command.Fail(command.ExitUsage, text, fix+"; if ids may repeat, add --duplicates keep-first or keep-all")
}

func (in *Input) listFaults() string {
	text := ""
	for _, f := range in.faults {
		text += "\n" + f
	}
	all := int64(0)
	if in.invalid != config.SkipInvalid {
		all += in.Bad.Load()
	}
	if in.duplicates == config.RefuseDuplicates {
		all += in.Repeated.Load()
	}
	if more := all - int64(len(in.faults)); more > 0 {
		text += fmt.Sprintf("\n… and %s more", term.Number(more))
	}
	return text
}

func (in *Input) waysOut() string {
	var ways []string
	listed := " and lists them in the report"
	if _, here := in.lists.(*Skipped); here {
		listed = "" // duplicates are only counted, and bad rows are shown anyway
	}
	if in.Bad.Load() > 0 && in.invalid != config.SkipInvalid {
		ways = append(ways, "--invalid skip leaves bad rows out"+listed)
	}
	if in.Repeated.Load() > 0 && in.duplicates == config.RefuseDuplicates {
		way := "--duplicates keep-first leaves repeated ids out" + listed
		if in.Template != "" {
			way = "duplicates: keep_first in the template " + in.Template + " leaves repeated ids out"
		}
		ways = append(ways, way)
	}
	return "correct the file, or " + term.JoinAnd(ways)
}

// Line is the first line of a run: what was read.
func (in *Input) Line(p term.Paint) string {
	c := fmt.Sprintf("%s · %s · %s%s · %s · %s invalid", in.Name, term.Plural(in.Rows.Load(), "row", "rows"),
		term.Plural(in.Items.Load(), "unique id", "unique ids"), in.idsFrom(), term.Plural(in.Repeated.Load(), "duplicate",
			"duplicates"), term.Number(in.Bad.Load()))
	if in.keys == nil {
		c = fmt.Sprintf("%s · %s · ids%s not compared · %s invalid", in.Name, term.Plural(in.Rows.Load(), "row", "rows"),
			in.idsFrom(), term.Number(in.Bad.Load()))
	}
	return "  " + p.Dim("input") + "     " + c
}

// idsFrom names the column or member that ids were read from: it may have been chosen by its name, and wrongly.
func (in *Input) idsFrom() string {
	d := in.Reader.Detected()
	switch {
	case d.IDColumn == "":
		return ""
	case len(d.Columns) > 0:
		return " from column " + term.Tame(d.IDColumn)
	}
	return " from member " + term.Tame(d.IDColumn)
}

// Reading is the line shown while the input is being read.
func (in *Input) Reading() string {
	line := fmt.Sprintf("  reading   %s · %s", in.Name, term.Plural(in.Rows.Load(), "row", "rows"))
	if size := in.Reader.Size(); size > 0 {
		line += " · " + term.Percent(min(in.Reader.BytesRead(), size), size)
	}
	return line
}
