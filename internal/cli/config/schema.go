package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// schema is a part of a JSON Schema.
type schema = map[string]any

// Schema returns a JSON Schema (draft 7) of the file, by which editors complete keys and mark mistakes.
//
// It knows keys, kinds of values, units and bounds. How settings depend on each other, and whether files and
// variables are there, only [Load] knows.
func Schema() map[string]any {
	g := generator{defaults: map[string]string{}, bounds: map[string]bound{}}
	for _, s := range Settings() {
		g.defaults[s.Key] = s.Default
	}
	for _, b := range bounds(defaults()) {
		g.bounds[b.key] = b
	}
	root := g.object(reflect.TypeFor[Server](), "")
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "Configuration of weir serve"
	return root
}

// generator holds what a schema needs besides the fields: what is known of a setting by its key.
type generator struct {
	defaults map[string]string
	bounds   map[string]bound
}

// object describes a struct: its keys, and no others.
func (g generator) object(t reflect.Type, path string) schema {
	keys := schema{}
	for i := range t.NumField() {
		f := t.Field(i)
		key := keyOf(&f)
		if key == "" || t == reflect.TypeFor[Step]() && (key == "name" || key == "action") { // the key above is the name
			continue
		}
		one := g.value(f.Type, join(path, key))
		if help := f.Tag.Get(helpTag); help != "" {
			one["description"] = help
		}
		keys[key] = one
	}
	out := schema{"type": []string{"object", "null"}, "additionalProperties": false, "properties": keys}
	if must := required(t); must != nil {
		out["type"], out["required"] = "object", must
	}
	return out
}

// required lists the keys without which an entry is an error.
func required(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[Step]():
		return []string{"url"}
	case reflect.TypeFor[Connection]():
		return []string{"kind", "address"}
	}
	return nil
}

func (g generator) value(t reflect.Type, path string) schema {
	if text := textOf(reflect.New(t).Elem()); text != nil {
		return g.text(text, path)
	}
	if t.Kind() != reflect.Map {
		return g.object(t, path)
	}
	out := schema{"type": []string{"object", "null"}, "additionalProperties": g.value(t.Elem(), join(path, "*"))}
	if t == reflect.TypeFor[map[string]Webhook]() {
		out["propertyNames"] = schema{"pattern": webhookName.String()}
	}
	return out
}

// text describes a value that is one word, with its default and bounds.
func (g generator) text(t text, path string) schema {
	words := wordsOf(t, path)
	if words != nil {
		out := schema{"anyOf": []schema{{"enum": words}, {"type": "string", "pattern": withVariable}}}
		if d := g.defaults[path]; d != "" {
			out["default"] = d
		}
		return out
	}
	out := maps.Clone(shapeOf(t))
	if b, ok := g.bounds[path]; ok {
		out["minimum"], out["maximum"] = b.low, b.high
		if b.optional {
			out["minimum"] = 0
		}
	}
	switch d := g.defaults[path]; t.(type) {
	case numberText, *Part:
		if n, err := strconv.ParseFloat(d, 64); err == nil {
			out["default"] = n
		}
	case *boolText:
		out["default"] = d == "true"
	default:
		if d != "" {
			out["default"] = d
		}
	}
	return out
}

// wordsOf lists the words of a value that is one of a few.
func wordsOf(t text, path string) []string {
	switch path {
	case "connections.*.kind":
		return connectionKinds
	case "connections.*.sasl":
		return []string{"plain", "scram-sha-256", "scram-sha-512"}
	}
	if few, ok := t.(interface{ Words() []string }); ok {
		return slices.Clone(few.Words())
	}
	return nil
}

// withVariable matches texts with ${NAME}, of which only the environment knows what they are.
const withVariable = `\$\{[A-Za-z_][A-Za-z0-9_]*\}`

const (
	number   = `[0-9]+(?:\.[0-9]+)?`
	duration = `(?:` + number + `(?:ns|us|µs|ms|s|m|h))+`
)

// shapeOf describes how a value is written.
func shapeOf(t text) schema {
	switch t.(type) {
	case *listText:
		return schema{"type": []string{"array", "string"}, "items": schema{"type": "string"}}
	case *boolText:
		return like("boolean", `true|false`)
	case numberText:
		return like("integer", `[0-9][0-9_]*`)
	case *Batch:
		return between(like("integer", `[0-9]+`), 1, 1000)
	case *Concurrency:
		return between(like("integer", `[0-9]+`), 1, 1_000_000)
	case *Retries:
		return between(like("integer", `[0-9]+`), 0, 249)
	case *Part:
		return between(like("number", number), 0, 1)
	case *Weight:
		out := like("number", number)
		out["exclusiveMinimum"], out["maximum"] = 0, 1000
		return out
	case *Size:
		return like("", number+` *(?:KiB|MiB|GiB|TiB|kB|KB|MB|GB|TB|B)`)
	case *Age:
		return like("", duration+`|[0-9]+d`)
	case *Duration, *Span:
		return like("", duration)
	case *Rate:
		return like("", number+`(?:e[0-9]+)? */ *(?:s|sec|second|m|min|minute|h|hour)`)
	case *Address:
		return like("", `(?:\[[^\]]*\]|[^ /@:]*):[0-9]{1,5}`)
	}
	return schema{"type": "string"}
}

// like describes a value of a type of JSON, or a text of that pattern. Texts with variables are accepted, too.
func like(kind, pattern string) schema {
	out := schema{"type": "string", "pattern": fmt.Sprintf("^(?:%s)$|%s", pattern, withVariable)}
	if kind != "" {
		out["type"] = []string{kind, "string"}
	}
	return out
}

func between(s schema, low, high float64) schema {
	s["minimum"], s["maximum"] = low, high
	return s
}
