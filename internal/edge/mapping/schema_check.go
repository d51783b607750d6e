package mapping

import (
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/weirhq/weir"
)

// MaxMismatches bounds the faults that are reported of one document.
const MaxMismatches = 5

// Check returns what is wrong with a document, nothing if it matches the schema. at is the
// position of the document, as in items[3]; fields begin with it.
func (s *Schema) Check(at string, doc []byte) []*weir.FieldError {
	v, err := checkable(doc)
	if err != nil {
		return []*weir.FieldError{mismatch(at, err.Error())}
	}
	var wrong *jsonschema.ValidationError
	if err := s.s.Validate(v); err == nil {
		return nil
	} else if !errors.As(err, &wrong) {
		return []*weir.FieldError{mismatch(at, plainly(err))}
	}
	c := &collect{at: at, words: message.NewPrinter(language.English)}
	c.add(wrong)
	slices.SortStableFunc(c.out, func(a, b *weir.FieldError) int { return strings.Compare(a.Field, b.Field) })
	c.out = slices.CompactFunc(c.out, func(a, b *weir.FieldError) bool { return *a == *b })
	return c.out[:min(len(c.out), MaxMismatches)]
}

func mismatch(field, problem string) *weir.FieldError { return faultOf(field, problem, "") }

func faultOf(field, problem, fix string) *weir.FieldError {
	return &weir.FieldError{Code: SchemaMismatch, Field: field, Problem: problem, Fix: fix}
}

// collect gathers the faults that have no further cause.
type collect struct {
	at    string
	words *message.Printer
	out   []*weir.FieldError
}

// enough bounds the faults before they are sorted: a list of 100,000 wrong values would repeat
// the same one 100,000 times.
const enough = 100

func (c *collect) add(e *jsonschema.ValidationError) {
	if len(c.out) >= enough {
		return
	}
	field := c.at + fieldOf(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			c.out = append(c.out, faultOf(field+"."+name, "is missing", "fill it in, or choose a column for it"))
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			c.out = append(c.out, faultOf(field+"."+name, "is not a member that the schema knows", "leave it out, or correct its name"))
		}
	case *kind.AnyOf, *kind.OneOf, *kind.Not: // their causes contradict each other
		c.out = append(c.out, faultOf(field, "is none of what the action accepts here", "ask who runs the action what it accepts"))
	default:
		if problem, fix := words(e.ErrorKind); problem != "" {
			c.out = append(c.out, faultOf(field, problem, fix))
		} else if len(e.Causes) == 0 {
			c.out = append(c.out, mismatch(field, e.ErrorKind.LocalizedString(c.words)))
		}
		for _, cause := range e.Causes {
			c.add(cause)
		}
	}
}

// fieldOf formats the position of a value, as in .lines[3].amount.
func fieldOf(path []string) string {
	var b strings.Builder
	for _, p := range path {
		if p != "" && strings.Trim(p, "0123456789") == "" {
			b.WriteString("[" + p + "]")
		} else {
			b.WriteString("." + p)
		}
	}
	return b.String()
}
