package mapping

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	errTooLarge = fmt.Errorf("makes more than %d KiB of JSON", MaxResult>>10)
	errCut      = errors.New("a text was cut inside a character")
)

// appendJSON writes a value; members of objects are in the order of their names.
// It stops at MaxResult: a value may refer to the same part many times over.
func appendJSON(to []byte, v any) (_ []byte, err error) {
	if len(to) > MaxResult {
		return to, errTooLarge
	}
	switch v := v.(type) {
	case nil:
		return append(to, "null"...), nil
	case bool:
		return strconv.AppendBool(to, v), nil
	case string:
		return appendString(to, v)
	case exact:
		return append(to, v...), nil
	case int:
		return strconv.AppendInt(to, int64(v), 10), nil
	case float64:
		return appendFloat(to, v)
	case time.Time:
		return appendString(to, v.Format(time.RFC3339Nano))
	case time.Duration:
		return appendString(to, v.String())
	case []any:
		return appendList(to, v)
	case []string:
		return appendList(to, v)
	case map[string]any:
		return appendObject(to, v)
	}
	return to, fmt.Errorf("a value of the kind %T cannot be written as JSON", v)
}

func appendString(to []byte, s string) ([]byte, error) {
	if len(to)+len(s) > MaxResult {
		return to, errTooLarge
	}
	out, err := jsontext.AppendQuote(to, s)
	if err != nil {
		return to, errCut
	}
	return out, nil
}

// appendFloat writes whole numbers without an exponent as long as they are exact.
func appendFloat(to []byte, f float64) ([]byte, error) {
	switch a := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return to, fmt.Errorf("%v is not a number that JSON has", f)
	case a != 0 && (a < 1e-6 || a >= 1e21):
		return strconv.AppendFloat(to, f, 'e', -1, 64), nil
	}
	return strconv.AppendFloat(to, f, 'f', -1, 64), nil
}

func appendList[T any](to []byte, list []T) (_ []byte, err error) {
	to = append(to, '[')
	for i, v := range list {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = appendJSON(to, v); err != nil {
			return to, err
		}
	}
	return append(to, ']'), nil
}

func appendObject(to []byte, m map[string]any) (_ []byte, err error) {
	to = append(to, '{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = appendString(to, name); err != nil {
			return to, err
		}
		if to, err = appendJSON(append(to, ':'), m[name]); err != nil {
			return to, err
		}
	}
	return append(to, '}'), nil
}
