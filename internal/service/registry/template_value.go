package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/check"
)

// paramValue is the value of a parameter, or a bound of one.
type paramValue struct {
	is   any     // compared with other values: a string, a float64 or a bool
	size float64 // compared with bounds
}

// paramType is a type of parameter.
type paramType struct {
	a    string // as in "give it a number"
	fix  string // how to write it
	read func(v any) (paramValue, bool)
}

// maxWhole bounds the whole numbers that every JSON decoder represents exactly.
const maxWhole = 1 << 53

// paramTypes holds the known types.
var paramTypes = map[string]paramType{
	"string": {"a string", `write a string in quotes, as in "spring"`, func(v any) (paramValue, bool) {
		s, ok := v.(string)
		return paramValue{s, float64(utf8.RuneCountInString(s))}, ok
	}},
	"number": {"a number", "write a number, as in 2.5", func(v any) (paramValue, bool) {
		f, ok := v.(float64)
		return paramValue{f, f}, ok
	}},
	"integer": {"a whole number", "write a whole number below 2^53, as in 25", func(v any) (paramValue, bool) {
		f, ok := v.(float64)
		return paramValue{f, f}, ok && f == math.Trunc(f) && math.Abs(f) < maxWhole
	}},
	"boolean": {"true or false", "write true or false", func(v any) (paramValue, bool) {
		b, ok := v.(bool)
		return paramValue{b, 0}, ok
	}},
	"date": {"a date", "write year, month and day, as in \"2026-12-24\"", func(v any) (paramValue, bool) {
		s, _ := v.(string)
		at, err := time.Parse(time.DateOnly, s)
		return paramValue{s, float64(at.Unix())}, err == nil
	}},
}

// readParam parses a value of a type.
func readParam(kind string, raw json.RawMessage) (paramValue, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return paramValue{}, errors.New("is not valid JSON")
	}
	value, ok := paramTypes[kind].read(v)
	if !ok {
		return value, fmt.Errorf("%.64s is not %s", raw, paramTypes[kind].a)
	}
	return value, nil
}

// readBound parses a bound for values of a type; for strings it bounds the length.
func readBound(kind string, raw json.RawMessage) (paramValue, error) {
	switch kind {
	case "boolean":
		return paramValue{}, errors.New("a boolean has no bounds")
	case "string":
		v, err := readParam("integer", raw)
		if err == nil && v.size < 0 {
			err = fmt.Errorf("%s is below 0", raw)
		}
		return v, err
	}
	return readParam(kind, raw)
}

func boundFix(kind string) string {
	switch kind {
	case "boolean":
		return "leave it out"
	case "string":
		return "write how many characters, as in 20"
	}
	return paramTypes[kind].fix
}

// paramFault returns what is wrong with the value of a parameter; nil: nothing. The bounds of the
// parameter were checked when its template was created.
func paramFault(p *templateParam, raw json.RawMessage) *weir.FieldError {
	v, err := readParam(p.Type, raw)
	if err != nil {
		return &weir.FieldError{Code: "bad_value", Problem: err.Error(), Fix: paramTypes[p.Type].fix}
	}
	of := ""
	if p.Type == "string" {
		of = " characters"
	}
	if low, err := readBound(p.Type, p.Min); p.Min != nil && err == nil && v.size < low.size {
		return &weir.FieldError{Code: "out_of_range", Problem: fmt.Sprintf("%.64s is less than %s%s", raw, p.Min, of), Fix: within(p, of)}
	}
	if high, err := readBound(p.Type, p.Max); p.Max != nil && err == nil && v.size > high.size {
		return &weir.FieldError{Code: "out_of_range", Problem: fmt.Sprintf("%.64s is more than %s%s", raw, p.Max, of), Fix: within(p, of)}
	}
	if len(p.Allowed) > 0 &&
		!slices.ContainsFunc(p.Allowed, func(a json.RawMessage) bool {
			w, err := readParam(p.Type, a)
			return err == nil &&
				w.is == v.is
		}) {
		return &weir.FieldError{Code: "bad_value", Problem: fmt.Sprintf("%.64s is not an allowed value", raw),
			Fix: "use " + listed(p.Allowed)}
	}
	return nil
}

// within describes the bounds of a parameter.
func within(p *templateParam, of string) string {
	switch {
	case p.Max == nil:
		return fmt.Sprintf("choose at least %s%s", p.Min, of)
	case p.Min == nil:
		return fmt.Sprintf("choose at most %s%s", p.Max, of)
	}
	return fmt.Sprintf("choose between %s and %s%s", p.Min, p.Max, of)
}

func listed(values []json.RawMessage) string {
	var texts []string
	for _, v := range values[:min(len(values), check.MaxNamed)] {
		texts = append(texts, string(v))
	}
	if len(values) > check.MaxNamed {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}
