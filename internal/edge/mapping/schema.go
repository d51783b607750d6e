package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weirhq/weir"
)

const (
	// MaxSchema is the largest schema, in bytes.
	MaxSchema = 256 << 10
	// mostTurns bounds how often one value may be checked, counting every path through the
	// schema.
	mostTurns = 10_000
	// mostParts bounds the work of looking through a schema itself.
	mostParts = 1_000_000
	// mostMatch bounds the work of one pattern on one text: bytes times instructions.
	mostMatch = 1 << 24
	// mostExponent bounds numbers: the checker holds them as fractions of whole numbers.
	mostExponent = 400
)

// Schema is the JSON schema of an action's items, draft 2020-12 unless it names another.
type Schema struct{ s *jsonschema.Schema }

// CompileSchema compiles a schema, which may refer to nothing outside of itself. The error is a
// *weir.FieldError of the given field.
func CompileSchema(field string, raw []byte) (*Schema, error) {
	wrong := func(problem, fix string) error {
		return &weir.FieldError{Code: BadSchema, Field: field, Problem: problem, Fix: fix}
	}
	if len(raw) > MaxSchema {
		return nil, wrong(fmt.Sprintf("has %d bytes", len(raw)), fmt.Sprintf("%d is the most", MaxSchema))
	}
	doc, err := checkable(raw)
	if err != nil {
		return nil, wrong(err.Error(), "")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refusing{})
	c.UseRegexpEngine(engine)
	c.AssertFormat()
	if err := c.AddResource(schemaName, doc); err != nil {
		return nil, wrong(plainly(err), "")
	}
	s, err := c.Compile(schemaName)
	if err != nil {
		var refused *jsonschema.LoadURLError
		if errors.As(err, &refused) {
			return nil, wrong("refers to "+refused.URL, "put what it refers to under $defs of the schema itself")
		}
		return nil, wrong(plainly(err), "")
	}
	if n := turns(s, map[*jsonschema.Schema]int{}); n > mostTurns {
		return nil, wrong("would check the same value too many times",
			fmt.Sprintf("%d times are the most, over allOf, anyOf, oneOf and $ref", mostTurns))
	}
	switch again, known := multiplies(s); {
	case !known:
		return nil, wrong("has too many parts that check the same value", "make it simpler")
	case again:
		return nil, wrong("refers to itself more than once for the same member, so that each level of a document doubles "+
			"the work", "refer to itself in one place only")
	}
	return &Schema{s}, nil
}

// Members lists the members of a document that the schema names, sorted.
func (s *Schema) Members() []string { return slices.Sorted(maps.Keys(s.s.Properties)) }

// schemaName is the address of the schema itself.
const schemaName = "weir:///schema.json"

// plainly returns an error of the library without the address that we gave the schema.
func plainly(err error) string {
	s := strings.ReplaceAll(err.Error(), schemaName, "schema")
	return strings.Join(strings.Fields(s), " ")
}

// refusing is a loader that loads nothing.
type refusing struct{}

// Load implements jsonschema.URLLoader.
func (refusing) Load(string) (any, error) { return nil, errors.New("it is outside of the schema") }

// bounded is a pattern of a schema. A text that is too long for it does not match.
type bounded struct{ *pattern }

func engine(text string) (jsonschema.Regexp, error) {
	p, err := newPattern(text)
	return bounded{p}, err
}

// MatchString implements jsonschema.Regexp.
func (b bounded) MatchString(s string) bool { return len(s)*b.size <= mostMatch && b.re.MatchString(s) }

// String implements jsonschema.Regexp.
func (b bounded) String() string { return b.re.String() }

// checkable decodes a document for the checker.
func checkable(raw []byte) (any, error) {
	v, err := value(raw)
	if err != nil {
		return nil, errNotJSON
	}
	return fractions(v)
}

// fractions converts numbers that were kept as digits, if they can be represented.
func fractions(v any) (_ any, err error) {
	switch x := v.(type) {
	case exact:
		if _, e, found := strings.Cut(strings.ToLower(string(x)), "e"); found {
			if n, err := strconv.Atoi(e); err != nil || n < -mostExponent || n > mostExponent {
				return nil, fmt.Errorf("the number %.40s is out of range", x)
			}
		}
		return json.Number(x), nil
	case []any:
		for i := range x {
			if x[i], err = fractions(x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range x { // order does not reach the result
			if x[k], err = fractions(x[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
