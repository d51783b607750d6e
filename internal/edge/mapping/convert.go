package mapping

import (
	"errors"
	"fmt"
	"math"
	"regexp"
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

// toFloat converts a number or the text of one. A second argument "," says that texts have a decimal comma.
func toFloat(r *run, args []any) (any, error) {
	if len(args) > 2 {
		if args[2] != "," && args[2] != "." {
			return nil, fmt.Errorf("the decimal sign %.10q is not \",\" or \".\"", args[2])
		}
		if text, ok := args[1].(string); ok && args[2] == "," {
			return withComma(r, args[0].(string), text)
		}
	}
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
	err := unfit(args[0].(string), args[1], "a number", "12.5")
	if text, ok := args[1].(string); ok && hasComma.MatchString(strings.TrimSpace(text)) {
		bad := err.(*badValue)
		bad.problem += ": it has a comma"
		bad.fix = "if that is a decimal comma, read the column as numbers with a decimal comma, in an expression float(…, \",\"); otherwise write it as 12.5, without a sign between thousands"
	}
	return nil, err
}

// hasComma matches a number with a comma that may be a decimal one, and commaNumber one whose meaning is clear once that is
// known: points may only separate thousands before a comma, for alone they may be decimal points.
var (
	hasComma    = regexp.MustCompile(`^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+$`)
	commaNumber = regexp.MustCompile(`^[+-]?(\d+(,\d+)?|\d{1,3}(\.\d{3})+,\d+)$`)
)

// withComma converts the text of a number with a decimal comma.
func withComma(r *run, column, text string) (any, error) {
	if err := r.pay(1 + len(text)/8); err != nil {
		return nil, err
	}
	plain := strings.TrimSpace(text)
	if commaNumber.MatchString(plain) {
		plain = strings.Replace(strings.ReplaceAll(plain, ".", ""), ",", ".", 1)
		if f, err := strconv.ParseFloat(plain, 64); err == nil && !math.IsInf(f, 0) {
			return f, nil
		}
	}
	err := unfit(column, text, "a number with a decimal comma", "12,5")
	if bad := err.(*badValue); strings.Contains(plain, ".") && !strings.Contains(plain, ",") {
		bad.fix += ": a point alone may be a decimal point or separate thousands"
	}
	return nil, err
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
