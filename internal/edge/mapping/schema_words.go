package mapping

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// words say what is wrong with a value and what to do about it, in words that fit a person who fills in a table. They do not
// quote the value, so that faults of one kind read the same. The problem is empty for what the words are not for.
func words(of jsonschema.ErrorKind) (problem, fix string) {
	switch k := of.(type) {
	case *kind.Type:
		return typeWords(k)
	case *kind.MinLength:
		problem = "must have at least " + plural(k.Want, "character")
		if k.Got == 0 {
			return problem + ", and is empty", "fill it in"
		}
		return problem, "write a longer value"
	case *kind.MaxLength:
		return "must have at most " + plural(k.Want, "character"), "write a shorter value"
	case *kind.Pattern:
		if k.Got == "" {
			return "must match the pattern " + cut(k.Want) + ", and is empty", "fill it in"
		}
		return "must match the pattern " + cut(k.Want), "write it in this form"
	case *kind.Enum:
		return "must be " + oneOf(k.Want), "write one of the values as it is here"
	case *kind.Const:
		return "must be " + oneOf([]any{k.Want}), "write this value"
	case *kind.Format:
		return "must be " + formatWords(k.Want), "correct the value"
	}
	return boundWords(of)
}

// boundWords say which bound a value breaks.
func boundWords(of jsonschema.ErrorKind) (problem, fix string) {
	switch k := of.(type) {
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want), "write a larger number"
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want), "write a smaller number"
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(k.Want), "write a larger number"
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want), "write a smaller number"
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want), "write such a number"
	case *kind.MinItems:
		return "must have at least " + plural(k.Want, "element"), "add what is missing"
	case *kind.MaxItems:
		return "must have at most " + plural(k.Want, "element"), "leave some out"
	case *kind.UniqueItems:
		return "must not have the same element twice", "leave out what is there already"
	case *kind.MinProperties:
		return "must have at least " + plural(k.Want, "member"), "add what is missing"
	case *kind.MaxProperties:
		return "must have at most " + plural(k.Want, "member"), "leave some out"
	}
	return "", ""
}

// jsonTypes names the types of JSON.
var jsonTypes = map[string]string{"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false", "null": "null",
	"array": "a list", "object": "an object"}

// typeFixes say how a value of a type is written.
var typeFixes = map[string]string{"string": "write a text in quotes", "integer": "write a number as in 12, or read the column as a whole number",
	"number": "write a number as in 12.5, or read the column as a number", "boolean": "write true or false without quotes"}

func typeWords(k *kind.Type) (problem, fix string) {
	var want []string
	for _, t := range k.Want {
		want = append(want, jsonTypes[t])
		if fix == "" {
			fix = typeFixes[t]
		}
	}
	return "must be " + strings.Join(want, " or ") + ", and is " + jsonTypes[k.Got], fix
}

// formats names formats that people know.
var formats = map[string]string{"email": "an email address, as in ann@example.com", "date": "a date, as in 2026-01-31", "time": "a time, as in 14:30:00Z",
	"date-time": "a date and a time, as in 2026-01-31T14:30:00Z", "uri": "a URL, as in https://example.com", "uuid": "a UUID",
	"ipv4": "an IPv4 address", "ipv6": "an IPv6 address", "hostname": "the name of a host", "duration": "a duration, as in P1D"}

func formatWords(format string) string {
	if known := formats[format]; known != "" {
		return known
	}
	return "of the format " + format
}

// mostListed bounds how many allowed values a fault lists.
const mostListed = 10

func oneOf(values []any) string {
	var list []string
	for _, v := range values[:min(len(values), mostListed)] {
		text, ok := v.(string)
		if raw, err := json.Marshal(v); !ok && err == nil {
			text = string(raw)
		}
		list = append(list, cut(text))
	}
	if len(values) > mostListed {
		list = append(list, "…")
	}
	if len(list) == 1 {
		return list[0]
	}
	return "one of " + strings.Join(list, ", ")
}

// cut shortens a text of a schema.
func cut(s string) string {
	if r := []rune(s); len(r) > mostValue {
		return string(r[:mostValue]) + "…"
	}
	return s
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(9), "0")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
