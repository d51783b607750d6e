package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// text is a value that can be read from one word and written as one. The
// interface is that of a command-line flag.
type text interface {
	Set(string) error
	String() string
	Type() string
}

// textOf returns the text form of a field, or nil if it is more than one word.
func textOf(v reflect.Value) text {
	if t, ok := v.Addr().Interface().(text); ok {
		return t
	}
	switch p := v.Addr().Interface().(type) {
	case *string:
		return (*plainText)(p)
	case *bool:
		return (*boolText)(p)
	case *[]string:
		return (*listText)(p)
	case encoding.TextUnmarshaler:
		return foreignText{p}
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return numberText{v}
	default:
		return nil
	}
}

// foreignText is a value of another package that reads itself.
type foreignText struct{ encoding.TextUnmarshaler }

func (f foreignText) Set(s string) error { return f.UnmarshalText([]byte(s)) }
func (f foreignText) String() string     { return fmt.Sprint(f.TextUnmarshaler) }
func (foreignText) Type() string         { return "TEXT" }

type plainText string

func (p *plainText) Set(s string) error { *p = plainText(s); return nil }
func (p *plainText) String() string     { return string(*p) }
func (*plainText) Type() string         { return "TEXT" }

type numberText struct{ v reflect.Value }

func (n numberText) Set(s string) error {
	s = strings.ReplaceAll(s, "_", "") // 1_000_000 is a number of YAML
	if n.v.Kind() == reflect.Float64 {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", s)
		}
		n.v.SetFloat(f)
		return nil
	}
	i, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil || !n.v.CanInt() && i < 0 || n.v.CanInt() && n.v.OverflowInt(i):
		return fmt.Errorf("%q is not a whole number", s)
	case n.v.CanInt():
		n.v.SetInt(i)
	default:
		n.v.SetUint(uint64(i))
	}
	return nil
}

func (n numberText) String() string {
	if n.v.IsZero() {
		return ""
	}
	return fmt.Sprint(n.v)
}
func (numberText) Type() string { return "N" }

type boolText bool

func (b *boolText) Set(s string) error {
	v, err := strconv.ParseBool(s)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", s)
	}
	*b = boolText(v)
	return nil
}
func (b *boolText) String() string { return strconv.FormatBool(bool(*b)) }
func (*boolText) Type() string     { return "bool" }

// listText is several words; on a command line or in a variable with commas between them.
type listText []string

func (l *listText) Set(s string) error {
	*l = nil
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l = append(*l, part)
		}
	}
	return nil
}
func (l *listText) String() string { return strings.Join(*l, ",") }
func (*listText) Type() string     { return "LIST" }

// keyOf is a field's key in YAML, or empty if it has none.
func keyOf(f *reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if key == "-" {
		return ""
	}
	return key
}

// join is the path of a key inside another one.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Tags of fields, besides yaml: heading and help are for people, and
//
//	path    the value is the path of a file, seen from the file that names it
//	secret  the file holds a secret, which goes into the field of that name; "-" if others read it
//	plain   the values of a map whose keys must not name secrets; the tag is the key to use instead
const (
	headingTag = "heading"
	helpTag    = "help"
	pathTag    = "path"
	secretTag  = "secret"
	plainTag   = "plain"
)
