package simulate

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/lab/model"
)

// loadWorld finds a built-in scenario, or reads a file.
func loadWorld(env *command.Env, name string) (model.World, error) {
	if w, ok := model.ByName(name); ok {
		return w, nil
	}
	raw, err := os.ReadFile(env.Path(name))
	if errors.Is(err, os.ErrNotExist) {
		fix := "the scenarios are " + scenarioNames()
		if meant := near.Word(name, strings.Split(scenarioNames(), ", ")); meant != "" {
			fix = fmt.Sprintf("did you mean %s? %s", meant, fix)
		}
		return model.World{}, command.BadUsage(fix, "%q is neither a scenario nor a file", name)
	}
	if err != nil {
		return model.World{}, &config.Error{File: name, Problem: "cannot be read", Fix: "check the path and its permissions",
			Err: errors.Unwrap(err)}
	}
	w, err := readWorld(name, raw)
	if err != nil {
		return w, err
	}
	if err := w.Validate(); err != nil {
		return w, command.BadUsage("", "%s: %s", name, strings.ReplaceAll(err.Error(), "\n", "\n"+name+": "))
	}
	return w, nil
}

// readWorld reads YAML strictly; its errors name file, line and fix.
func readWorld(name string, raw []byte) (w model.World, err error) {
	if err := spec.OneDocument(name, raw); err != nil {
		return w, err
	}
	keys := map[string]reflect.Type{}
	keyTypes(reflect.TypeFor[model.World](), keys)
	if err := checkValues(name, raw, keys); err != nil {
		return w, err
	}
	err = yaml.NewDecoder(bytes.NewReader(raw), yaml.Strict()).Decode(&w)
	var located yaml.Error
	var unknown *yaml.UnknownFieldError
	switch {
	case err == nil:
		return w, nil
	case errors.Is(err, io.EOF):
		return w, &config.Error{File: name, Problem: "is empty", Fix: "start from a scenario: weir simulate flood --show"}
	case !errors.As(err, &located):
		return w, &config.Error{File: name, Problem: err.Error()}
	}
	out := &config.Error{File: name, Problem: located.GetMessage()}
	if t := located.GetToken(); t != nil && t.Position != nil {
		out.Line = t.Position.Line
	}
	if errors.As(err, &unknown) && unknown.Token != nil {
		out.Problem = fmt.Sprintf("key %q is not known", unknown.Token.Value)
		out.Fix = "remove it"
		if meant := near.Word(unknown.Token.Value, sortedKeys(keys)); meant != "" {
			out.Fix = fmt.Sprintf("did you mean %s?", meant)
		}
	}
	return w, out
}

// keyTypes collects the type of every key; no key has two.
func keyTypes(t reflect.Type, into map[string]reflect.Type) {
	switch t.Kind() {
	case reflect.Slice:
		keyTypes(t.Elem(), into)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			into[key] = f.Type
			keyTypes(f.Type, into)
		}
	default:
	}
}

// checkValues reads every value by itself, since the decoder would not say where a
// bad one is, and would cut 1.5 items down to one.
func checkValues(name string, raw []byte, keys map[string]reflect.Type) error {
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return nil // the decoder says it better
	}
	v := &valueCheck{name: name, keys: keys}
	for _, d := range file.Docs {
		if d.Body != nil {
			ast.Walk(v, d.Body)
		}
	}
	return v.err
}

type valueCheck struct {
	name string
	keys map[string]reflect.Type
	err  error
}

// Visit implements ast.Visitor.
func (v *valueCheck) Visit(n ast.Node) ast.Visitor {
	pair, ok := n.(*ast.MappingValueNode)
	if !ok || v.err != nil {
		return v
	}
	scalar, ok := pair.Value.(ast.ScalarNode)
	key := pair.Key.GetToken().Value
	if t := v.keys[key]; ok && t != nil {
		if err := readAs(t, scalar.GetToken().Value); err != nil {
			v.err = &config.Error{File: v.name, Line: scalar.GetToken().Position.Line, Problem: key + ": " + err.Error()}
		}
	}
	return v
}

// readAs tries to read a text as a value of a type.
func readAs(t reflect.Type, text string) error {
	if u, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	if k := t.Kind(); k == reflect.Int || k == reflect.Int64 || k == reflect.Uint64 {
		if _, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64); err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
	}
	return nil
}

func sortedKeys(keys map[string]reflect.Type) []string { return slices.Sorted(maps.Keys(keys)) }
