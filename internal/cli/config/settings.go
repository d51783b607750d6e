package config

import (
	"reflect"
	"strings"
)

// Setting is one value of a [Server] that has a flag and a variable besides its key in the file.
type Setting struct {
	Key     string // as in limits.body
	Flag    string // as in limits-body
	Env     string // as in WEIR_LIMITS_BODY
	Heading string // under which the help lists it
	Help    string
	Type    string // the word for its value in help
	Default string
	Words   []string // if it is one of a few
}

// Settings lists every setting, in the order of the help.
func Settings() (all []Setting) {
	heading := ""
	for _, l := range leaves(reflect.ValueOf(defaults()).Elem(), "", "") {
		if l.heading != "" {
			heading = l.heading
		}
		s := Setting{
			Key: l.key, Flag: flagOf(l.key), Env: envOf(l.key), Heading: heading, Help: l.field.Tag.Get(helpTag),
			Type: wordFor(l), Default: l.text.String(),
		}
		if few, ok := l.text.(interface{ Words() []string }); ok {
			s.Words = few.Words()
		}
		all = append(all, s)
	}
	return all
}

func wordFor(l leaf) string {
	switch {
	case l.field.Tag.Get(pathTag) == "":
		return l.text.Type()
	case l.key == "data":
		return "DIR"
	}
	return "FILE"
}

func flagOf(key string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(key) }

func envOf(key string) string {
	return "WEIR_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// leaf is a setting in a struct.
type leaf struct {
	key, heading string
	text         text
	field        reflect.StructField
	in           reflect.Value // the struct that it is in
}

// leaves lists the settings of a struct and of structs in it, but not what is in maps.
func leaves(v reflect.Value, path, heading string) (all []leaf) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key := keyOf(&f)
		if key == "" || f.Type.Kind() == reflect.Map {
			continue
		}
		if h := f.Tag.Get(headingTag); h != "" {
			heading = h
		}
		if t := textOf(v.Field(i)); t != nil {
			all = append(all, leaf{join(path, key), heading, t, f, v})
		} else {
			all = append(all, leaves(v.Field(i), join(path, key), heading)...)
		}
	}
	return all
}

// secretOf is the field beside a leaf that takes its secret, and the secret's
// own key. It is not valid if the leaf names none, or one that others read.
func (l *leaf) secretOf() (into reflect.Value, key string) {
	if name := l.field.Tag.Get(secretTag); name != "" && name != "-" {
		return l.in.FieldByName(name), strings.TrimSuffix(l.key, fileSuffix)
	}
	return reflect.Value{}, ""
}
