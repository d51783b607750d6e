package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/core/near"
)

// StepName returns the id of a step, which is the name of its action unless it has one of its own.
func StepName(s api.Step) string {
	if s.ID != "" {
		return s.ID
	}
	return s.Action
}

// FileFlag adds the flag -f.
func FileFlag(fs *pflag.FlagSet) *string {
	return fs.StringP("file", "f", "", "YAML or JSON `FILE` in the format of the API; - is stdin")
}

// ReadAll reads one thing, or a list of them.
func ReadAll[T any](env *command.Env, file string) (all []T, err error) {
	if file == "" {
		return nil, command.BadUsage("add -f FILE; - reads stdin", "the file is missing")
	}
	from := "@" + file
	if file == "-" {
		from = file
	}
	raw, err := env.ReadArgument(from)
	if err != nil {
		return nil, err
	}
	return DecodeAll[T](file, raw)
}

// Decode reads something in the API's shape, as YAML or JSON. What the API has no field for is refused.
func Decode(name string, raw []byte, into any) error {
	raw, err := specJSON(name, raw)
	if err != nil {
		return err
	}
	return decodeJSON(name, raw, into)
}

// DecodeAll reads one thing, or a list of them. An error names the entry of the list.
func DecodeAll[T any](name string, raw []byte) ([]T, error) {
	raw, err := specJSON(name, raw)
	if err != nil {
		return nil, err
	}
	if raw[0] != '[' {
		all := make([]T, 1)
		return all, decodeJSON(name, raw, &all[0])
	}
	var parts []json.RawMessage
	if err := decodeJSON(name, raw, &parts); err != nil {
		return nil, err
	}
	all := make([]T, len(parts))
	for i, part := range parts {
		var known struct{ Name string }
		_ = json.Unmarshal(part, &known) // it is only shown
		if err := decodeJSON(EntryName(name, i, known.Name), part, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// EntryName names an entry of a list in a file.
func EntryName(file string, i int, name string) string {
	text := fmt.Sprintf("%s, entry %d", file, i+1)
	if name != "" {
		text += fmt.Sprintf(" (%s)", name)
	}
	return text
}

// specJSON returns a document as JSON.
func specJSON(name string, raw []byte) ([]byte, error) {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 {
		return nil, command.BadUsage("write it in the format of the API, as YAML or JSON", "%s is empty", name)
	}
	if trimmed[0] == '{' || trimmed[0] == '[' {
		if !json.Valid(trimmed) {
			if flow, err := yaml.YAMLToJSON(raw); err == nil {
				return flow, nil // YAML that begins like JSON: {name: send-message}
			}
		}
		return trimmed, nil // mistakes in JSON are told as such
	}
	// A second document would not be read. What is not YAML at all is left to the decoder.
	if file, err := parser.ParseBytes(raw, 0); err == nil && len(file.Docs) > 1 {
		return nil, command.BadUsage("write one file for each, or a list", "%s has %d documents in it", name, len(file.Docs))
	}
	raw, err := yaml.YAMLToJSON(raw)
	if err != nil {
		return nil, command.BadUsage("", "%s: %v", name, yaml.FormatError(err, false, true))
	}
	return raw, nil
}

func decodeJSON(name string, raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return badSpec(name, raw, err, into)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return command.BadUsage("keep one", "%s has more than one document", name)
	}
	return nil
}

const seeFields = "see /openapi.yaml of the server for the fields"

// badSpec explains why a document does not have the API's shape. The decoder has filled into as far as it could.
func badSpec(name string, raw []byte, err error, into any) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := ""
		if t.Field != "" {
			field = t.Field + ": "
		}
		return command.BadUsage(seeFields, "%s: %smust be %s, not %s", name, field, wantedName(t.Type.Kind()), valueName(t.Value))
	}
	if t, ok := errors.AsType[*time.ParseError](err); ok {
		value := strings.Trim(t.Value, `"`)
		fix := "write a time with its zone, as in 2030-01-31T18:00:00Z"
		if _, span := time.ParseDuration(value); span == nil {
			if _, ok := into.(*api.NewBulkAction); ok {
				fix += ", or leave it out and use --deadline " + value
			}
		}
		return command.BadUsage(fix, "%s: %s%q is not a time", name, fieldWith(raw, value), value)
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	field, unknown := strings.CutPrefix(text, "unknown field ")
	if !unknown {
		return command.BadUsage(seeFields, "%s: %s", name, text)
	}
	return command.BadUsage(unknownFix(strings.Trim(field, `"`), into), "%s: %s", name, text)
}

// fieldWith names the field that has a value, as a decoder does not: "deadline: ". Empty: not found.
func fieldWith(raw []byte, value string) string {
	var doc any
	_ = json.Unmarshal(raw, &doc) // the decoder got past it
	var find func(v any, path string) string
	find = func(v any, path string) string {
		if m, ok := v.(map[string]any); ok {
			for _, k := range slices.Sorted(maps.Keys(m)) {
				if found := find(m[k], strings.TrimPrefix(path+"."+k, ".")); found != "" {
					return found
				}
			}
		}
		if v == value {
			return path + ": "
		}
		return ""
	}
	return find(doc, "")
}

// unknownFix says what to do about a field that the API does not have.
func unknownFix(field string, into any) string {
	limits := []string{"rate", "concurrency", "pacing", "limit", "limits"}
	if a, ok := into.(*api.Action); ok && slices.Contains(limits, field) {
		return fmt.Sprintf("set limits with weir resources set %s --rate 450/s --concurrency 8",
			term.Quote(cmp.Or(a.Resource, a.Name, "NAME")))
	}
	if _, ok := into.(*api.NewBulkAction); ok &&
		(field == "url" || field == "batch" || field == "retries" || field == "timeout" || slices.Contains(limits, field)) {
		return fmt.Sprintf("set %s of the action under actions in %s", field, config.FileName)
	}
	if meant := near.Word(field, settable(reflect.TypeOf(into).Elem())); meant != "" && meant != field { // else it is known elsewhere
		return fmt.Sprintf("did you mean %s? %s", meant, seeFields)
	}
	return seeFields
}

// settable lists the fields of the API's type t that a client may set.
func settable(t reflect.Type) (names []string) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && f.Tag.Get("readOnly") == "" {
			names = append(names, name)
		}
	}
	return names
}

// wantedName names the JSON that a Go type is read from.
func wantedName(k reflect.Kind) string {
	names := map[reflect.Kind]string{
		reflect.Bool: "true or false", reflect.String: "a string", reflect.Float64: "a number", reflect.Slice: "a list",
		reflect.Struct: "an object", reflect.Map: "an object",
	}
	return cmp.Or(names[k], "an integer")
}

// valueName is wantedName for what encoding/json calls a value.
func valueName(v string) string {
	switch v {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + v
}
