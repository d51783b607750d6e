package config

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/weirhq/weir/internal/service/vault"
)

// origin is the source of a value.
type origin struct {
	file string // or the name of the flag or variable
	line int
	kind string // file, flag or environment
}

const byDefault = "default"

// String tells it to people.
func (o origin) String() string {
	switch o.kind {
	case "":
		return byDefault
	case "file":
		return o.file + ":" + strconv.Itoa(o.line)
	}
	return o.kind + " " + o.file
}

// originOf returns the origin of a value, or that of the nearest key above it.
func (s *Server) originOf(key string) origin {
	for {
		if o, ok := s.origins[key]; ok {
			return o
		}
		i := strings.LastIndexAny(key, ".[")
		if i < 0 {
			return origin{}
		}
		key = key[:i]
	}
}

// Value is one setting, for people to see.
type Value struct {
	Key    string `json:"key"`
	Text   string `json:"value"`
	Origin string `json:"origin"`
	Secret bool   `json:"secret,omitempty"`
}

// Values lists what is set, and where each value came from. Secrets are not shown.
func (s *Server) Values() (all []Value) {
	v := reflect.ValueOf(s).Elem()
	for _, l := range leaves(v, "", "") {
		all = append(all, Value{Key: l.key, Text: shown(l.text.String()), Origin: s.origins[l.key].String()})
		if into, key := l.secretOf(); into.IsValid() && !into.Interface().(vault.Secret).IsZero() {
			all = append(all, Value{Key: key, Text: vault.Shown, Origin: s.origins[key].String(), Secret: true})
		}
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if key := keyOf(&f); f.Type.Kind() == reflect.Map && key != "" {
			all = s.inside(v.Field(i), key, all)
		}
	}
	return all
}

// inside lists what is set in a map or a struct of the file.
func (s *Server) inside(v reflect.Value, path string, all []Value) []Value {
	switch t := textOf(v); {
	case t != nil:
		return append(all, Value{Key: path, Text: shown(t.String()), Origin: s.originOf(path).String()})
	case v.Kind() == reflect.Map:
		for _, k := range sortedKeys(v) {
			one := reflect.New(v.Type().Elem()).Elem()
			one.Set(v.MapIndex(k))
			all = s.inside(one, join(path, k.String()), all)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if key := keyOf(&f); key != "" && !v.Field(i).IsZero() {
				all = s.inside(v.Field(i), join(path, key), all)
			}
		}
	}
	return all
}

// shown is a value without passwords: a variable may hold a URL that has one.
func shown(text string) string {
	parts := strings.Split(text, ",")
	for i, p := range parts {
		if u, err := url.Parse(p); holdsPassword(p) && err == nil {
			parts[i] = u.Redacted()
		} else if holdsPassword(p) {
			parts[i] = vault.Shown
		}
	}
	return strings.Join(parts, ",")
}
