package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Error says what is wrong, where, and what to write instead.
type Error struct {
	File    string // or the variable or flag that it came from
	Line    int    // 0: the file as a whole
	Problem string
	Fix     string
	Err     error // the cause, if there is one
}

// Error gives place, problem and fix in one line.
func (e *Error) Error() string {
	if e.Fix == "" {
		return e.What()
	}
	return e.What() + "; " + e.Fix
}

// What gives place and problem, without the fix.
func (e *Error) What() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	fmt.Fprintf(&b, ": %s", e.Problem)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// MostErrors limits how many mistakes are reported at once.
const MostErrors = 20

// Errors is everything that is wrong, in the order of the file.
type Errors struct {
	List []*Error // at most [MostErrors]
	More int      // that were found besides
}

// Error gives one line for each.
func (e *Errors) Error() string {
	var lines []string
	for _, one := range e.List {
		lines = append(lines, one.Error())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the mistakes one by one.
func (e *Errors) Unwrap() []error {
	all := make([]error, len(e.List))
	for i, one := range e.List {
		all[i] = one
	}
	return all
}

// faults collects mistakes.
type faults []*Error

func (f *faults) add(e *Error) { *f = append(*f, e) }

// err is everything that was collected, or nil.
func (f *faults) err() error {
	if len(*f) == 0 {
		return nil
	}
	slices.SortStableFunc(*f, func(a, b *Error) int { return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line) })
	most := min(len(*f), MostErrors)
	return &Errors{List: (*f)[:most], More: len(*f) - most}
}

// unreadable turns what the YAML parser says into an [Error].
func unreadable(file string, err error) *Error {
	out := &Error{File: file, Problem: err.Error()}
	if located, ok := errors.AsType[yaml.Error](err); ok {
		out.Problem = located.GetMessage()
		if t := located.GetToken(); t != nil && t.Position != nil {
			out.Line = t.Position.Line
		}
	}
	return out
}
