package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/weirhq/weir/internal/service/vault"
)

// Source holds the sources of a server's settings: a flag overrides a
// variable, and that more than the file.
type Source struct {
	// Path is where the file is; empty without a file.
	Path string
	// Name is the file's in messages. Default: Path.
	Name string
	// Dir is the base of relative paths that are not in the file.
	Dir string
	// Getenv reads the environment. An empty variable is one that is not set.
	Getenv func(string) string
	// Flags are the flags that were given, by the key of their setting.
	Flags map[string]string
}

// Load reads the settings of a server. The error, if any, is an [*Errors] with all that is wrong.
func Load(src Source) (*Server, error) {
	if src.Name == "" {
		src.Name = src.Path
	}
	l := &loader{Source: src, server: defaults()}
	l.fromFile()
	for _, leaf := range leaves(reflect.ValueOf(l.server).Elem(), "", "") {
		l.overlay(&leaf)
	}
	l.readSecrets(reflect.ValueOf(l.server).Elem(), "")
	l.otel()
	l.derive()
	check(l.server, l.fault)
	return l.server, l.err()
}

// loader collects settings, and what is wrong with them.
type loader struct {
	Source
	faults
	server *Server
}

// fault notes what is wrong with a value, where it came from.
func (l *loader) fault(key, problem, fix string) {
	switch o := l.server.originOf(key); o.kind {
	case "file":
		l.add(&Error{File: o.file, Line: o.line, Problem: key + ": " + problem, Fix: fix})
	case "":
		l.add(&Error{File: key, Problem: problem, Fix: fix})
	default:
		l.add(&Error{File: o.file, Problem: problem, Fix: fix})
	}
}

func (l *loader) fromFile(only ...string) {
	if l.Path == "" {
		return
	}
	l.server.hasFile = true
	r := &reader{path: l.Path, name: l.Name, getenv: l.Getenv, only: only}
	r.read(l.server)
	l.faults = r.faults
	for key, line := range r.lines {
		l.server.origins[key] = origin{l.Name, line, "file"}
	}
}

// overlay sets a value by its variable and its flag, if they were given.
func (l *loader) overlay(f *leaf) {
	if v := l.Getenv(envOf(f.key)); v != "" {
		l.set(f, v, origin{envOf(f.key), 0, "environment"})
	}
	if v, ok := l.Flags[f.key]; ok {
		l.set(f, v, origin{"--" + flagOf(f.key), 0, "flag"})
	}
	if o := l.server.origins[f.key]; o.kind != "file" && f.field.Tag.Get(pathTag) != "" {
		if p := f.text.String(); p != "" && !filepath.IsAbs(p) {
			_ = f.text.Set(filepath.Join(l.Dir, p)) // a path is any text
		}
	}
	into, key := f.secretOf()
	if !into.IsValid() {
		return
	}
	if v := l.Getenv(envOf(key)); v != "" {
		if f.text.String() != "" {
			l.fault(f.key, "the secret is given twice: also by the environment variable "+envOf(key), "keep one of them")
			return
		}
		into.Set(reflect.ValueOf(vault.NewSecret(v)))
		l.server.origins[key] = origin{envOf(key), 0, "environment"}
	}
}

func (l *loader) set(f *leaf, word string, from origin) {
	if from.kind == "flag" && holdsPassword(word) {
		l.add(&Error{File: from.file, Problem: "contains a password, which every user of this machine could see",
			Fix: passwordFix(f.key)})
		return
	}
	if err := f.text.Set(word); err != nil {
		l.add(&Error{File: from.file, Problem: err.Error()})
		return
	}
	l.server.origins[f.key] = from
}

// readSecrets reads the files that fields of a struct, and of all in it, name.
func (l *loader) readSecrets(v reflect.Value, path string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key := keyOf(&f)
		if key == "" {
			continue
		}
		key = join(path, key)
		switch tag := f.Tag.Get(secretTag); {
		case tag != "" && f.Type.Kind() == reflect.Map:
			for _, k := range sortedKeys(v.Field(i)) {
				l.readSecret(v.Field(i).MapIndex(k).String(), join(key, k.String()))
			}
		case tag != "":
			if s := l.readSecret(v.Field(i).String(), key); !s.IsZero() && tag != "-" {
				v.FieldByName(tag).Set(reflect.ValueOf(s))
				l.server.origins[key[:len(key)-len(fileSuffix)]] = origin{v.Field(i).String(), 0, "contents of"}
			}
		case f.Type.Kind() == reflect.Struct:
			l.readSecrets(v.Field(i), key)
		case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct:
			l.readInside(v.Field(i), key)
		}
	}
}

// readInside reads the secrets of the entries of a map, which have to be put back.
func (l *loader) readInside(m reflect.Value, path string) {
	for _, k := range sortedKeys(m) {
		one := reflect.New(m.Type().Elem()).Elem()
		one.Set(m.MapIndex(k))
		l.readSecrets(one, join(path, k.String()))
		m.SetMapIndex(k, one)
	}
}

// readSecret reads a file that a key names.
func (l *loader) readSecret(path, key string) (s vault.Secret) {
	if path == "" {
		return s
	}
	s, err := ReadSecret(path)
	if e, ok := err.(*Error); ok { //nolint:errorlint // ReadSecret returns no other
		l.fault(key, e.What(), e.Fix)
	}
	return s
}

func sortedKeys(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(m.MapKeys()), func(a, b reflect.Value) int {
		return strings.Compare(a.String(), b.String())
	})
}

// derive sets what follows from other settings.
func (l *loader) derive() {
	s := l.server
	if s.AdminListen == "" {
		s.AdminListen = s.Listen
		if !s.Listen.Local() {
			s.AdminListen = "127.0.0.1:8081" // operator routes are reachable from other machines only if configured
		}
	}
}
