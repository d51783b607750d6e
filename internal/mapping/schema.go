package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weirhq/weir"
)

const (
	// MaxSchema is the most bytes of a schema.
	MaxSchema = 256 << 10
	// mostTurns is how often one value may be checked, counting every way that the
	// schema leads to it.
	mostTurns = 10_000
	// mostMatch bounds the work of one pattern on one text: bytes times instructions.
	mostMatch = 1 << 24
	// mostExponent bounds numbers: the checker holds them as fractions of whole numbers.
	mostExponent = 400
)

// Schema is the JSON schema of an action's items, draft 2020-12 unless it names another.
type Schema struct{ s *jsonschema.Schema }

// CompileSchema makes a schema, which may refer to nothing outside of itself. The
// error is a *weir.FieldError of the given field.
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
		return nil, wrong("would check the same value too many times", fmt.Sprintf("%d times are the most, over allOf, anyOf, oneOf and $ref", mostTurns))
	}
	return &Schema{s}, nil
}

// schemaName is the address of the schema itself.
const schemaName = "weir:///schema.json"

// plainly is an error of the library without the address that we gave the schema.
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

// checkable decodes a document as the checker wants it.
func checkable(raw []byte) (any, error) {
	v, err := value(raw)
	if err != nil {
		return nil, errNotJSON
	}
	return fractions(v)
}

// fractions makes numbers of those that were kept as digits, if they can be held.
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

// turns is how often a schema has the same value checked, by every way through it.
func turns(s *jsonschema.Schema, seen map[*jsonschema.Schema]int) int {
	if s == nil {
		return 0
	}
	if n, ok := seen[s]; ok {
		return n
	}
	seen[s] = 0 // a circle is found when it is used
	here := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		here = append(here, s.DynamicRef.Ref)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		here = append(here, list...)
	}
	for _, d := range s.DependentSchemas { // order does not reach the sum
		here = append(here, d)
	}
	n := 1
	for _, h := range here {
		n = min(n+turns(h, seen), mostTurns+1)
	}
	worst := n
	for _, below := range children(s) {
		worst = max(worst, turns(below, seen))
	}
	seen[s] = n
	if worst > mostTurns {
		return worst
	}
	return n
}

// children are the schemas of parts of a value.
func children(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	out = append(out, s.PrefixItems...)
	for _, p := range s.Properties { // order does not reach the maximum
		out = append(out, p)
	}
	for _, p := range s.PatternProperties { // order does not reach the maximum
		out = append(out, p)
	}
	for _, x := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch x := x.(type) {
		case *jsonschema.Schema:
			out = append(out, x)
		case []*jsonschema.Schema:
			out = append(out, x...)
		}
	}
	return out
}
