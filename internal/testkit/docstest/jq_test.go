package docstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// jq prints a part of a JSON text: paths as in .a.b[0], objects as in {a,b}, and
// one after the other with a pipe between them. -c is in one line, -r without quotes.
func jq(text string, args []string) (string, error) {
	compact, raw := false, false
	for len(args) > 1 {
		switch args[0] {
		case "-c":
			compact = true
		case "-r":
			raw = true
		default:
			return "", fmt.Errorf("jq: nothing is known of %s", args[0])
		}
		args = args[1:]
	}
	v := jsontext.Value(text)
	for part := range strings.SplitSeq(args[0], "|") {
		var err error
		if v, err = pick(v, strings.TrimSpace(part)); err != nil {
			return "", fmt.Errorf("jq %s: %w in %s", args[0], err, text)
		}
	}
	if s := ""; raw && json.Unmarshal(v, &s) == nil {
		return s + "\n", nil
	}
	if err := v.Compact(); err != nil {
		return "", err
	}
	if compact {
		return string(v) + "\n", nil
	}
	var b bytes.Buffer
	err := json.Indent(&b, v, "", "  ")
	return b.String() + "\n", err
}

// pick follows one filter. Members keep the order that they have.
func pick(v jsontext.Value, filter string) (jsontext.Value, error) {
	if names, ok := strings.CutPrefix(filter, "{"); ok {
		var b bytes.Buffer
		for name := range strings.SplitSeq(strings.TrimSuffix(names, "}"), ",") {
			name = strings.TrimSpace(name)
			member, err := pick(v, "."+name)
			if err != nil {
				member = jsontext.Value("null") // as jq does
			}
			fmt.Fprintf(&b, ",%q:%s", name, member)
		}
		return jsontext.Value("{" + strings.TrimPrefix(b.String(), ",") + "}"), nil
	}
	for step := range strings.FieldsFuncSeq(filter, func(r rune) bool { return r == '.' || r == '[' }) {
		var err error
		if at, isIndex := strings.CutSuffix(step, "]"); isIndex {
			v, err = element(v, at)
		} else {
			v, err = member(v, step)
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

func element(v jsontext.Value, at string) (jsontext.Value, error) {
	var list []json.RawMessage
	i, err := strconv.Atoi(at)
	if err = errors.Join(err, json.Unmarshal(v, &list)); err != nil {
		return nil, err
	}
	if i >= len(list) {
		return nil, fmt.Errorf("no element [%d]", i)
	}
	return jsontext.Value(list[i]), nil
}

func member(v jsontext.Value, name string) (jsontext.Value, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(v, &all); err != nil {
		return nil, err
	}
	if all[name] == nil {
		return nil, fmt.Errorf("no member %s", name)
	}
	return jsontext.Value(all[name]), nil
}

func TestPartsOfJSON(t *testing.T) {
	const text = `{"b": {"z": 1, "y": [10, {"x": "t"}]}, "a": "s"}`
	for _, tt := range []struct{ name, args, want string }{
		{"all of it, in one line", "-c .", `{"b":{"z":1,"y":[10,{"x":"t"}]},"a":"s"}`},
		{"a path", "-c .b.y[1]", `{"x":"t"}`},
		{"a text without quotes", "-r .a", `s`},
		{"some members", "-c {a,b}", `{"a":"s","b":{"z":1,"y":[10,{"x":"t"}]}}`},
		{"one that is not there", "-c {a,n}", `{"a":"s","n":null}`},
		{"members of a path", "-c .b|{z}", `{"z":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jq(text, strings.Fields(tt.args))
			if err != nil || strings.TrimSpace(got) != tt.want {
				t.Errorf("jq %s = %s, %v, want %s", tt.args, got, err, tt.want)
			}
		})
	}
	if _, err := jq(text, []string{".c"}); err == nil {
		t.Error("no error for a member that is not there")
	}
}
