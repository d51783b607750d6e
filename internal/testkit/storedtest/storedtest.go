// Package storedtest compares the JSON format of stored records with a golden file, so that no
// change of a type changes what is stored unnoticed.
package storedtest

import (
	"encoding"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Check compares the JSON members of every kind of record, given as a value of its type, with a
// golden file: one line for each member, with its path and the JSON it takes. UPDATE=1 rewrites the
// file; a member that disappears from it can no longer be read from existing stores.
func Check(t *testing.T, golden string, kinds map[string]any) {
	t.Helper()
	var lines []string
	for kind, v := range kinds {
		lines = append(lines, describe(kind, reflect.TypeOf(v), nil)...)
	}
	slices.Sort(lines)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), append(lines, "")); diff != "" {
		t.Errorf("%s differs from the types; UPDATE=1 rewrites it (-file +types)\n%s", golden, diff)
	}
}

var (
	text = reflect.TypeFor[encoding.TextMarshaler]()
	raw  = reflect.TypeFor[json.RawMessage]()
	blob = reflect.TypeFor[[]byte]()
)

// describe lists the members of a type below a path. Within holds the structs around it.
func describe(path string, t reflect.Type, within []reflect.Type) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == raw:
		return []string{path + " any"}
	case t == blob:
		return []string{path + " base64"}
	case t.Implements(text):
		return []string{fmt.Sprintf("%s text of %v", path, t)}
	case slices.Contains(within, t):
		return []string{path + " as above"}
	}
	switch t.Kind() {
	case reflect.Struct:
		return describeStruct(path, t, append(slices.Clone(within), t))
	case reflect.Slice, reflect.Array:
		return describe(path+"[]", t.Elem(), within)
	case reflect.Map:
		return describe(path+".*", t.Elem(), within)
	default:
		return []string{path + " " + t.Kind().String()}
	}
}

func describeStruct(path string, t reflect.Type, within []reflect.Type) (lines []string) {
	for f := range t.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "":
			lines = append(lines, describe(path, f.Type, within)...)
		case name == "":
			lines = append(lines, path+"."+f.Name+" has no JSON name")
		default:
			if opts != "" {
				name += "?"
			}
			lines = append(lines, describe(path+"."+name, f.Type, within)...)
		}
	}
	return lines
}
