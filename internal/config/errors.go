package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// Error says what is wrong in a file, where, and what to write instead.
type Error struct {
	File    string
	Line    int // 0: the file as a whole
	Problem string
	Fix     string
	Err     error // the cause, if there is one
}

// Error gives place, problem and fix in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	fmt.Fprintf(&b, ": %s", e.Problem)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Fix != "" {
		fmt.Fprintf(&b, "; %s", e.Fix)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// repeated is how the YAML parser says that a key is there twice.
var repeated = regexp.MustCompile(`^mapping key (".*") already defined at \[(\d+):\d+\]$`)

// explain turns what the YAML decoder says into an [Error]. v is what was decoded into.
func explain(path string, err error, v any) error {
	var ours *Error
	if errors.As(err, &ours) {
		ours.File = path
		return ours
	}
	out := &Error{File: path, Problem: err.Error()}
	var located yaml.Error
	if errors.As(err, &located) {
		out.Problem = located.GetMessage()
		if t := located.GetToken(); t != nil && t.Position != nil {
			out.Line = t.Position.Line
		}
	}
	var unknown *yaml.UnknownFieldError
	var wrong *yaml.TypeError
	switch {
	case errors.As(err, &unknown) && unknown.Token != nil:
		key := unknown.Token.Value
		out.Problem = fmt.Sprintf("key %q is not known", key)
		if near := Nearest(key, knownKeys(reflect.TypeOf(v), nil)); near != "" {
			out.Fix = fmt.Sprintf("did you mean %s?", near)
		} else {
			out.Fix = "remove it"
		}
	case repeated.MatchString(out.Problem):
		out.Problem, out.Fix = repeated.ReplaceAllString(out.Problem, "key $1 is there twice, first in line $2"), "remove one of them"
	case errors.As(err, &wrong) && wrong.Token != nil:
		out.Problem = fmt.Sprintf("%q is no %s", wrong.Token.Value, kindWord(wrong.DstType))
	}
	return out
}

// kindWord is a Go kind in the words of a person who writes YAML.
func kindWord(t reflect.Type) string {
	switch k := t.Kind(); {
	case t.ConvertibleTo(reflect.TypeFor[int]()):
		return "whole number"
	case k == reflect.Slice:
		return "list"
	case k == reflect.Map || k == reflect.Struct:
		return "set of keys"
	}
	return "text"
}

// Nearest is the known word that was probably meant, or empty when none is near.
func Nearest(word string, known []string) string {
	best, least := "", max(2, len(word)/3)+1
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters must be put in, taken out, changed or swapped with
// their neighbour to make b of a.
func distance(a, b string) int {
	before, last, row := []int{}, make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, append([]int(nil), last...)
	}
	return last[len(b)]
}
