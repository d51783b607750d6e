package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/weirhq/weir/internal/core/near"
)

// reader puts a YAML file into a struct. Other than a decoder it goes on after a
// mistake, so that all are told at once, and remembers where each value stood.
type reader struct {
	faults
	path   string              // of the file
	name   string              // of the file, in messages
	getenv func(string) string // for ${NAME}; nil: such words stay as they are
	only   []string            // the keys at the top whose values are wanted; nil: all

	lines   map[string]int // of each key, by its path
	anchors map[string]ast.Node
}

// Decode reads a YAML document into v, which points to a struct, and tells all that is wrong with it, with the lines.
func Decode(name string, raw []byte, v any) error {
	r := &reader{name: name}
	r.parse(raw, v)
	return r.err()
}

// read reads the file into v, which points to a struct.
func (r *reader) read(v any) {
	raw, err := os.ReadFile(r.path)
	if err != nil {
		r.add(&Error{File: r.name, Problem: "cannot be read", Fix: "check the path and its permissions", Err: cause(err)})
		return
	}
	r.parse(raw, v)
}

func (r *reader) parse(raw []byte, v any) {
	r.lines, r.anchors = map[string]int{}, map[string]ast.Node{}
	if i := bytes.IndexByte(raw, '\t'); i >= 0 && len(bytes.TrimLeft(raw[bytes.LastIndexByte(raw[:i], '\n')+1:i], " \t")) == 0 {
		r.add(&Error{File: r.name, Line: 1 + bytes.Count(raw[:i], []byte("\n")), Problem: "is indented with a tab",
			Fix: "YAML wants spaces"})
		return
	}
	file, err := parser.ParseBytes(raw, 0, parser.AllowDuplicateMapKey())
	switch {
	case err != nil:
		r.add(unreadable(r.name, err))
	case len(bytes.TrimSpace(raw)) == 0: // it was cut off, perhaps
		r.add(&Error{File: r.name, Problem: "is empty", Fix: "write its content, or do not name it"})
	case len(file.Docs) > 1:
		r.add(&Error{File: r.name, Line: file.Docs[1].Body.GetToken().Position.Line, Problem: "begins a second document",
			Fix: "write one file for each"})
	case len(file.Docs) == 0 || file.Docs[0].Body == nil: // comments alone
	default:
		r.value(file.Docs[0].Body, reflect.ValueOf(v).Elem(), "", "")
	}
}

// at notes a mistake at a node.
func (r *reader) at(n ast.Node, problem, fix string) {
	r.add(&Error{File: r.name, Line: n.GetToken().Position.Line, Problem: problem, Fix: fix})
}

// value reads a node into a field with tag.
func (r *reader) value(n ast.Node, into reflect.Value, path string, tag reflect.StructTag) {
	n = r.bare(n)
	if n == nil {
		return
	}
	list, isList := n.(*ast.SequenceNode)
	switch t := textOf(into); {
	case t != nil && !(isList && into.Kind() == reflect.Slice):
		r.scalar(n, t, path, tag)
	case into.Kind() == reflect.Slice && isList:
		for i, e := range list.Values {
			one := reflect.New(into.Type().Elem()).Elem()
			at := fmt.Sprintf("%s[%d]", path, i)
			r.lines[at] = e.GetToken().Position.Line
			r.value(e, one, at, tag)
			into.Set(reflect.Append(into, one))
		}
	case into.Kind() == reflect.Slice:
		r.at(n, last(path)+": is not a list", "write it as in ["+strings.TrimSpace(n.String())+"]")
	default:
		r.keys(n, into, path, tag)
	}
}

// bare is a node without anchors, aliases and tags, or nil if it is nowhere.
func (r *reader) bare(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.AnchorNode:
		r.anchors[n.Name.GetToken().Value] = n.Value
		return r.bare(n.Value)
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		if r.anchors[name] == nil {
			r.at(n, fmt.Sprintf("anchor %q is not defined before this line", name), "")
			return nil
		}
		return r.anchors[name]
	case *ast.TagNode:
		return r.bare(n.Value)
	}
	return n
}

// scalar reads one word.
func (r *reader) scalar(n ast.Node, into text, path string, tag reflect.StructTag) {
	var word string
	switch n := n.(type) {
	case *ast.NullNode:
		r.at(n, last(path)+": has no value", "write one, or remove the key")
		return
	case *ast.StringNode:
		word = r.expand(n, n.Value, path)
	case *ast.LiteralNode:
		word = r.expand(n, n.Value.Value, path)
	case ast.ScalarNode:
		word = n.GetToken().Value
	default:
		r.at(n, last(path)+": is not a single value", "")
		return
	}
	if tag.Get(pathTag) != "" && word != "" && word != "-" {
		word = beside(r.path, word)
	}
	if holdsPassword(word) {
		r.at(n, last(path)+": holds a password", passwordFix(path))
		return
	}
	if err := into.Set(word); err != nil {
		r.at(n, last(path)+": "+err.Error(), "")
	}
}

// variable is ${NAME}, or $${NAME} for those very words.
var variable = regexp.MustCompile(`\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand puts in what the environment says.
func (r *reader) expand(n ast.Node, s, path string) string {
	if r.getenv == nil {
		return s
	}
	return variable.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		name := m[2 : len(m)-1]
		v := r.getenv(name)
		if v == "" {
			r.at(n, fmt.Sprintf("%s: the environment variable %s is not set", last(path), name), "set it, or write the value here")
		}
		return v
	})
}

// keys reads a mapping into a struct or a map.
func (r *reader) keys(n ast.Node, into reflect.Value, path string, tag reflect.StructTag) {
	if _, null := n.(*ast.NullNode); null {
		return // a heading with nothing under it
	}
	m, ok := n.(ast.MapNode)
	if !ok {
		found := "a single value"
		if _, list := n.(*ast.SequenceNode); list {
			found = "a list"
		}
		r.at(n, strings.TrimPrefix(last(path)+": ", ": ")+"is "+found+" where keys with values are expected", "")
		return
	}
	seen := map[string]int{}
	for it := m.MapRange(); it.Next(); {
		key, line := it.Key().GetToken().Value, it.Key().GetToken().Position.Line
		switch first, twice := seen[key]; {
		case it.Key().IsMergeKey():
			r.at(it.Key(), "keys are merged with <<", "write them out")
			continue
		case twice:
			r.at(it.Key(), fmt.Sprintf("duplicate key %q, first seen in line %d", key, first), "remove one of them")
			continue
		}
		seen[key], r.lines[join(path, key)] = line, line
		if into.Kind() == reflect.Map {
			r.entry(it.Key(), it.Value(), into, join(path, key), tag)
		} else {
			r.field(it.Key(), it.Value(), into, path)
		}
	}
}

// entry reads one entry of a map.
func (r *reader) entry(k, n ast.Node, into reflect.Value, path string, tag reflect.StructTag) {
	key := k.GetToken().Value
	if instead := tag.Get(plainTag); instead != "" && looksSecret.MatchString(key) {
		r.at(k, key+" is a secret and must not be in this file",
			fmt.Sprintf("put it into a file that only you can read, and name that under %s: {%s: PATH}", instead, key))
		return
	}
	if into.IsNil() {
		into.Set(reflect.MakeMap(into.Type()))
	}
	one := reflect.New(into.Type().Elem()).Elem()
	r.value(n, one, path, tag)
	into.SetMapIndex(reflect.ValueOf(key), one)
}

// field reads one field of a struct.
func (r *reader) field(k, n ast.Node, into reflect.Value, path string) {
	key := k.GetToken().Value
	var known []string
	for i := range into.NumField() {
		f := into.Type().Field(i)
		name := keyOf(&f)
		if name == key {
			if path != "" || r.only == nil || slices.Contains(r.only, key) {
				r.value(n, into.Field(i), join(path, key), f.Tag)
			}
			return
		}
		if name != "" {
			known = append(known, name)
		}
	}
	r.unknown(k, key, known)
}

// unknown tells what to write instead of a key.
func (r *reader) unknown(k ast.Node, key string, known []string) {
	if slices.Contains(known, key+fileSuffix) {
		r.at(k, fmt.Sprintf("%s is a secret and must not be in this file", key),
			fmt.Sprintf("put it into a file that only you can read, and name that with %s: PATH", key+fileSuffix))
		return
	}
	fix := "remove it; known here: " + strings.Join(known, ", ")
	if meant := near.Word(key, known); meant != "" {
		fix = fmt.Sprintf("did you mean %s?", meant)
	}
	r.at(k, fmt.Sprintf("key %q is not known", key), fix)
}

// last is the last part of a key's path.
func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// beside is a path as seen from the file that names it.
func beside(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}
