package mapping

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/weirhq/weir"
)

// ItemError says why an expression fails for one item. It unwraps to the *weir.FieldError of the expression.
type ItemError struct {
	weir.FieldError
	// Column is the member of the item that the expression fails for, and Value its value as text. Empty: unknown.
	Column, Value string
}

// Unwrap implements errors.
func (e *ItemError) Unwrap() error { return &e.FieldError }

// badValue is a value that cannot be converted.
type badValue struct {
	column, value string
	problem, fix  string
}

// Error implements error.
func (e *badValue) Error() string {
	if e.column == "" {
		return e.problem
	}
	return fmt.Sprintf("column %s: %s", e.column, e.problem)
}

// mostValue bounds how much of a value an error quotes, in characters.
const mostValue = 60

// unfit returns the error of a value that is not what its conversion makes. What is wanted has its article: a number.
func unfit(column string, v any, wanted, example string) error {
	e := &badValue{column: column, fix: "write " + wanted + " as in " + example}
	text, isText := v.(string)
	if n, ok := v.(exact); ok {
		text = string(n)
	}
	if r := []rune(text); len(r) > mostValue {
		text = string(r[:mostValue]) + "…"
	}
	e.value = text
	switch {
	case v == nil:
		e.problem, e.fix = "the value is missing", "fill it in, or choose another column"
	case isText && strings.TrimSpace(text) == "":
		e.problem, e.fix = "the value is empty", "fill it in"
	case isText:
		e.problem = fmt.Sprintf("%q is not %s", text, wanted)
	case text != "":
		e.problem = text + " has more digits than arithmetic has"
	default:
		e.problem = fmt.Sprintf("this is %s, and not %s", kindOf(v), wanted)
	}
	return e
}

// converting lists the functions whose first argument is the column of the value that they convert, which the compiler adds.
var converting = map[string]bool{"int": true, "float": true, "date": true}

// columnIn returns the member of the item that an expression reads, or an empty string if it reads none or several.
func columnIn(n ast.Node) string {
	var found column
	ast.Walk(&n, &found)
	if found.others {
		return ""
	}
	return found.name
}

// column finds the only member of the item that a tree reads.
type column struct {
	name   string
	others bool
}

// Visit implements ast.Visitor.
func (c *column) Visit(node *ast.Node) {
	m, ok := (*node).(*ast.MemberNode)
	if !ok {
		return
	}
	of, isName := m.Node.(*ast.IdentifierNode)
	if name, written := m.Property.(*ast.StringNode); isName && written && of.Value == nameItem {
		c.others = c.others || c.name != "" && c.name != name.Value
		c.name = name.Value
	}
}

// toInt converts a number or the text of one to a whole number; fractions of numbers are cut off.
func toInt(r *run, args []any) (any, error) {
	switch v := args[1].(type) {
	case int:
		return v, nil
	case float64:
		return int(v), nil
	case time.Duration:
		return int(v), nil
	case string:
		if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
			return n, r.pay(len(v) / 16)
		}
	}
	return nil, unfit(args[0].(string), args[1], "a whole number", "12")
}

// toFloat converts a number or the text of one.
func toFloat(r *run, args []any) (any, error) {
	switch v := args[1].(type) {
	case int:
		return float64(v), nil
	case float64:
		return v, nil
	case string:
		if f, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, r.pay(len(v) / 16)
		}
	}
	return nil, unfit(args[0].(string), args[1], "a number", "12.5")
}

// date parses a date; without a layout as in RFC 3339, with or without a time. A date without a
// zone is in UTC.
func date(_ *run, args []any) (any, error) {
	column, layouts := args[0].(string), []string{time.RFC3339Nano, time.DateOnly, time.DateTime}
	example := time.DateOnly
	if len(args) > 2 {
		example = args[2].(string)
		layouts = []string{example}
	}
	text, ok := args[1].(string)
	if !ok {
		return nil, unfit(column, args[1], "a date", example)
	}
	if len(text) > 100 || len(layouts[0]) > 100 {
		return nil, errors.New("a date has at most 100 characters")
	}
	for _, l := range layouts {
		if at, err := time.ParseInLocation(l, text, time.UTC); err == nil {
			return at, nil
		}
	}
	return nil, unfit(column, text, "a date", example)
}
