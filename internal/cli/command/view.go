package command

import (
	"fmt"
	"reflect"
	"strings"
)

// Column is one property of what is listed.
type Column[T any] struct {
	Head  string
	Value func(*T) any
}

// View says how objects of a kind are shown: the id, the columns of a list, and the extra rows of a single object.
type View[T any] struct {
	Plural  string // what they are called; empty: results
	ID      func(*T) string
	Columns []Column[T]
	More    []Column[T]
}

// Texts computes the columns of a view that are not simply a field, by their heads.
type Texts[T any] map[string]func(*T) any

// NewView makes a view of fields by their JSON names. id names the field that -o id prints; columns and more list the
// columns with commas between them: "state" is both head and field, "items=counts.total" has a head of its own, and a ?
// at the end leaves a 0 out. A head in texts is computed. A field that does not exist panics.
func NewView[T any](plural, id, columns, more string, texts Texts[T]) View[T] {
	idOf := columnsOf(id, texts)[0].Value
	return View[T]{
		Plural: plural, ID: func(x *T) string { return plainText(idOf(x)) },
		Columns: columnsOf(columns, texts), More: columnsOf(more, texts),
	}
}

func columnsOf[T any](list string, texts Texts[T]) (all []Column[T]) {
	for spec := range strings.SplitSeq(list, ", ") {
		if spec == "" {
			continue
		}
		head, path, named := strings.Cut(spec, "=")
		if value := texts[head]; value != nil {
			all = append(all, Column[T]{head, value})
			continue
		}
		head = strings.TrimSuffix(head, "?")
		if !named {
			path = strings.ReplaceAll(spec, " ", "_")
		}
		all = append(all, Column[T]{head, fieldOf[T](path)})
	}
	return all
}

// fieldOf reads a field by its JSON name, or by several with dots between them. What a nil pointer leads to is empty.
func fieldOf[T any](path string) func(*T) any {
	path, orNone := strings.CutSuffix(path, "?")
	t, index := reflect.TypeFor[T](), []int(nil)
	for name := range strings.SplitSeq(path, ".") {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		f, ok := fieldNamed(t, name)
		if !ok {
			panic(fmt.Sprintf("%v has no field %q", reflect.TypeFor[T](), path))
		}
		t, index = f.Type, append(index, f.Index...)
	}
	return func(x *T) any {
		v, err := reflect.ValueOf(x).Elem().FieldByIndexErr(index)
		if err != nil || orNone && v.IsZero() {
			return ""
		}
		return v.Interface()
	}
}

func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}
