package mapping

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr/vm/runtime"
)

// function is a function that expressions may call. Its first argument is the [run], which the
// compiler adds; see [converting], too.
type function struct {
	do func(r *run, args []any) (any, error)
	// as is its signature for the type checker, without the run.
	as any
}

// builtins lists the functions of the expression language that may be used: those whose result
// depends on their arguments alone. True means that they read the whole of their arguments, and
// have to pay for it.
var builtins = map[string]bool{
	"all": true, "any": true, "none": true, "one": true, "filter": true, "map": true, "find": true, "count": true, "sum": true,
	"len": true, "trim": true, "trimPrefix": true, "trimSuffix": true, "upper": true, "lower": true,
	"split": true, "indexOf": true, "hasPrefix": true, "hasSuffix": true, "max": true, "min": true,
	"abs": false, "ceil": false, "floor": false, "round": false, "first": false, "last": false, "get": false,
}

// functions holds our own, some in place of a builtin that has no bound or that would make
// numbers and texts inexact.
var functions = map[string]function{
	"int":      {toInt, new(func(any) int)},
	"float":    {toFloat, new(func(value any, decimal ...string) float64)},
	"string":   {toString, new(func(any) string)},
	"join":     {join, new(func(list any, sep ...string) string)},
	"replace":  {replace, new(func(text, was, is string) string)},
	"toJSON":   {toJSON, new(func(any) string)},
	"hash":     {hash, new(func(any) string)},
	"coalesce": {coalesce, new(func(any, ...any) any)},
	"date":     {date, new(func(text string, layout ...string) time.Time)},
	"format":   {format, new(func(at time.Time, layout string) string)},
	"unix":     {unix, new(func(at time.Time) int)},
}

// internal holds functions that only the compiler inserts. Users cannot write their names.
var internal = map[string]func(r *run, args []any) (any, error){
	"$tick":  tick,
	"$look":  look,
	"$add":   add,
	"$sub":   subtract,
	"$mul":   multiply,
	"$match": match,
}

// functionNames lists all functions that can be called.
func functionNames() []string {
	names := append(slices.Sorted(maps.Keys(builtins)), slices.Sorted(maps.Keys(functions))...)
	slices.Sort(names)
	return names
}

// tick pays for one turn of a loop: the size of its body, and what it made.
func tick(r *run, args []any) (any, error) { return args[1], r.pay(args[0].(int)) }

// look pays for reading a value.
func look(r *run, args []any) (any, error) { return args[0], r.weigh(args[0]) }

func add(r *run, args []any) (any, error) {
	a, b := args[0], args[1]
	switch x := a.(type) {
	case int:
		if y, ok := b.(int); ok {
			return within(x+y, (x > 0) == (y > 0) && (x+y > 0) != (x > 0) && x != 0 && y != 0)
		}
	case string:
		if y, ok := b.(string); ok {
			return concat(r, x, y)
		}
	}
	return calculate("+", runtime.Add, a, b)
}

func concat(r *run, a, b string) (any, error) {
	if len(a)+len(b) > MaxResult {
		return nil, errTooLarge
	}
	return a + b, r.pay(1 + (len(a)+len(b))/16)
}

func subtract(_ *run, args []any) (any, error) {
	x, ok := args[0].(int)
	y, also := args[1].(int)
	if ok && also {
		return within(x-y, (x-y < x) != (y > 0))
	}
	return calculate("-", runtime.Subtract, args[0], args[1])
}

func multiply(_ *run, args []any) (any, error) {
	x, ok := args[0].(int)
	y, also := args[1].(int)
	if ok && also {
		over := x != 0 && ((x*y)/x != y || x == -1 && y == math.MinInt)
		return within(x*y, over)
	}
	return calculate("*", runtime.Multiply, args[0], args[1])
}

func within(sum int, over bool) (any, error) {
	if over {
		return nil, errors.New("the result is larger than 64 bits; use float(…) for an approximate one")
	}
	return sum, nil
}

// calculate computes what is neither whole numbers nor texts, and returns a readable error for
// what cannot be computed.
func calculate(op string, do func(a, b any) any, a, b any) (out any, err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%s cannot be used on %s and %s", op, kindOf(a), kindOf(b))
			if op == "+" && a != nil && b != nil && (kindOf(a) == "a text" || kindOf(b) == "a text") {
				err = fmt.Errorf("%w; make a text of the other one with string(…)", err)
			}
		}
	}()
	return do(a, b), nil
}

// kindOf returns the JSON type of a value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int, float64:
		return "a number"
	case exact:
		return "a number of more digits than arithmetic has"
	case string:
		return "a text"
	case []any, []string:
		return "a list"
	case map[string]any:
		return "an object"
	case time.Time:
		return "a date"
	}
	return "a value of another kind"
}

func toString(r *run, args []any) (any, error) {
	switch v := args[0].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case int:
		return strconv.Itoa(v), nil
	case exact:
		return string(v), nil
	case time.Time:
		return v.Format(time.RFC3339Nano), nil
	case time.Duration:
		return v.String(), nil
	}
	return toJSON(r, args)
}

func toJSON(r *run, args []any) (any, error) {
	if err := r.weigh(args[0]); err != nil {
		return nil, err
	}
	out, err := appendJSON(nil, args[0])
	return string(out), err
}

func join(r *run, args []any) (any, error) {
	sep := ""
	if len(args) > 1 {
		sep = args[1].(string)
	}
	list, err := texts(args[0])
	if err != nil {
		return nil, err
	}
	size := 0
	for _, s := range list {
		size += len(s) + len(sep)
	}
	if size > MaxResult {
		return nil, errTooLarge
	}
	return strings.Join(list, sep), r.pay(len(list) + size/16)
}

func texts(v any) ([]string, error) {
	switch v := v.(type) {
	case []string:
		return v, nil
	case []any:
		out := make([]string, len(v))
		for i, x := range v {
			s, ok := x.(string)
			if !ok {
				return nil, fmt.Errorf("join needs a list of texts; number %d of it is %s", i+1, kindOf(x))
			}
			out[i] = s
		}
		return out, nil
	}
	return nil, fmt.Errorf("join needs a list of texts, and this is %s", kindOf(v))
}

func replace(r *run, args []any) (any, error) {
	text, was, is := args[0].(string), args[1].(string), args[2].(string)
	if err := r.pay(1 + len(text)/8); err != nil {
		return nil, err
	}
	if more := len(is) - len(was); more > 0 && len(text)+strings.Count(text, was)*more > MaxResult {
		return nil, errTooLarge
	}
	out := strings.ReplaceAll(text, was, is)
	return out, r.pay(len(out) / 16)
}

// hash returns the SHA-256 of a text, or of the JSON of any other value, in hexadecimal.
func hash(r *run, args []any) (any, error) {
	text, err := toString(r, args)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(text.(string)))
	return hex.EncodeToString(sum[:]), r.pay(2 + len(text.(string))/16)
}

func coalesce(_ *run, args []any) (any, error) {
	for _, v := range args {
		if v != nil {
			return v, nil
		}
	}
	return nil, nil
}

func format(_ *run, args []any) (any, error) {
	layout := args[1].(string)
	if len(layout) > 100 {
		return nil, errors.New("a layout has at most 100 characters")
	}
	return args[0].(time.Time).Format(layout), nil
}

func unix(_ *run, args []any) (any, error) { return int(args[0].(time.Time).Unix()), nil }

// match pays for the work of a regular expression, which grows with its size.
func match(r *run, args []any) (any, error) {
	p := args[0].(*pattern)
	text, ok := args[1].(string)
	if !ok {
		if args[1] == nil {
			return false, nil
		}
		return nil, fmt.Errorf("matches needs a text, and this is %s", kindOf(args[1]))
	}
	if err := r.pay(1 + len(text)/4*(1+p.size/8)); err != nil {
		return nil, err
	}
	return p.re.MatchString(text), nil
}
