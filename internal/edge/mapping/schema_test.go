package mapping

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

const aSchema = `{"type":"object","required":["user_id","amount"],"additionalProperties":false,"properties":{
	"user_id":{"type":"integer","minimum":1},"amount":{"type":"integer","maximum":9007199254740993},
	"mail":{"type":"string","format":"email"},"code":{"type":"string","pattern":"^[A-Z]{2}$"},
	"lines":{"type":"array","items":{"$ref":"#/$defs/line"}},"either":{"oneOf":[{"type":"string"},{"type":"null"}]}},
	"$defs":{"line":{"type":"object","required":["n"],"properties":{"n":{"type":"number","exclusiveMinimum":0}}}}}`

func TestSchemaTellsWhatIsWrong(t *testing.T) {
	s, err := CompileSchema("schema", []byte(aSchema))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		doc  string
		want []string
	}{
		{`{"user_id":1,"amount":2,"lines":[{"n":1}],"either":null,"mail":"a@example.com","code":"DE"}`, nil},
		{`{"user_id":1}`, []string{"items[3].amount: is missing"}},
		{`{"user_id":"1","amount":2}`, []string{"items[3].user_id: must be a whole number, and is a text; write a number as in 12, or read the column as a whole number"}},
		{`{"user_id":1,"amount":9007199254740993}`, nil},
		{`{"user_id":1,"amount":9007199254740994}`, []string{"items[3].amount: must be at most 9007199254740993; write a smaller number"}},
		{`{"user_id":1,"amount":2.5,"amuont":2}`, []string{"items[3].amount: must be a whole number, and is a number", "items[3].amuont: is not a member that the schema knows"}},
		{`{"user_id":1,"amount":2,"lines":[{"n":1},{"n":0},{}]}`, []string{"items[3].lines[1].n: must be more than 0", "items[3].lines[2].n: is missing"}},
		{`{"user_id":1,"amount":2,"mail":"nobody"}`, []string{"items[3].mail: must be an email address, as in ann@example.com"}},
		{`{"user_id":1,"amount":2,"code":"de"}`, []string{"items[3].code: must match the pattern ^"}},
		{`{"user_id":1,"amount":2,"either":7}`, []string{"items[3].either: is none of what the action accepts here"}},
		{`[]`, []string{"items[3]: must be an object, and is a list"}},
		{`{`, []string{"items[3]: the document is not valid JSON"}},
		{`{"user_id":1,"amount":2}}`, []string{"items[3]: the document is not valid JSON"}},
		{`{"user_id":1e999999999,"amount":1}`, []string{"items[3]: the number 1e999999999 is out of range"}},
	} {
		got := s.Check("items[3]", []byte(tt.doc))
		if len(got) != len(tt.want) {
			t.Errorf("%s: %v, want %q", tt.doc, got, tt.want)
			continue
		}
		for i, f := range got {
			if f.Code != SchemaMismatch || !strings.HasPrefix(f.Error(), tt.want[i]) {
				t.Errorf("%s: %v, want %q", tt.doc, f, tt.want[i])
			}
		}
	}
}

// Words of the schema language mean nothing to a person who corrects a table.
func TestFaultsOfAValueAreInPlainWords(t *testing.T) {
	for schema, cases := range map[string]map[string]string{
		`{"minLength":3}`:                   {`""`: "must have at least 3 characters, and is empty; fill it in", `"ab"`: "must have at least 3 characters; write a longer value"},
		`{"maxLength":1}`:                   {`"ab"`: "must have at most 1 character; write a shorter value"},
		`{"enum":["DE","AT",7]}`:            {`"CH"`: "must be one of DE, AT, 7; write one of the values as it is here"},
		`{"const":"DE"}`:                    {`"CH"`: "must be DE; write this value"},
		`{"minimum":1.5}`:                   {`1`: "must be at least 1.5; write a larger number"},
		`{"type":["string","null"]}`:        {`true`: "must be null or a text, and is true or false; write a text in quotes"},
		`{"pattern":"^[A-Z]+$"}`:            {`"a"`: "must match the pattern ^[A-Z]+$; write it in this form", `""`: "must match the pattern ^[A-Z]+$, and is empty; fill it in"},
		`{"format":"date"}`:                 {`"1.2.2026"`: "must be a date, as in 2026-01-31; correct the value"},
		`{"minItems":2,"uniqueItems":true}`: {`[1]`: "must have at least 2 elements; add what is missing", `[1,1]`: "must not have the same element twice; leave out what is there already"},
		`{"multipleOf":10}`:                 {`15`: "must be a multiple of 10; write such a number"},
	} {
		s, err := CompileSchema("schema", []byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		for doc, want := range cases {
			if got := s.Check("x", []byte(doc)); len(got) != 1 || got[0].Error() != "x: "+want {
				t.Errorf("%s of %s: %v, want %s", doc, schema, got, want)
			}
		}
	}
}

func TestSchemaTellsAFewFaultsOfAnItem(t *testing.T) {
	s, err := CompileSchema("schema", []byte(`{"items":{"type":"integer"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Check("x", []byte("["+strings.Repeat(`"a",`, 5_000)+"1]")); len(got) != MaxMismatches {
		t.Errorf("5,000 wrong values are told as %d faults", len(got))
	}
}

func TestBadSchemasAreRefused(t *testing.T) {
	ways := `{"$ref":"#/$defs/d0","$defs":{"d30":{"type":"string"}`
	for i := range 30 {
		ways += fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	}
	wide := `{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/m"},`, 3000), ",") + `],"$defs":{"m":{"properties":{"a":true`
	for i := range 3000 {
		wide += fmt.Sprintf(`,"%d":true`, i)
	}
	for _, tt := range []struct{ name, schema, want string }{
		{"that is too wide", wide + "}}}}", "too many parts"},
		{"cut", `{"type":`, "the document is not valid JSON"},
		{"of an unknown type", `{"type":"strnig"}`, "schema: "},
		{"with a reference to the network", `{"$ref":"https://example.com/a.json"}`, "refers to https://example.com/a.json; put what it refers to under $defs"},
		{"with a reference to a file", `{"$ref":"file:///etc/passwd"}`, "refers to file:///etc/passwd"},
		{"with a relative reference", `{"$ref":"other.json"}`, "refers to weir:///other.json"},
		{"of a foreign kind", `{"$schema":"https://example.com/meta"}`, "refers to https://example.com/meta"},
		{"with a broken reference", `{"$ref":"#/$defs/none"}`, "none"},
		{"with a bad pattern", `{"pattern":"("}`, "schema: "},
		{"with a huge pattern", `{"pattern":"` + strings.Repeat("(a{900})", 20) + `"}`, "schema: "},
		{"with a huge number", `{"maximum":1e999999999}`, "out of range"},
		{"that is too long", `{"title":"` + strings.Repeat("x", MaxSchema) + `"}`, "is the most"},
		{"with a billion ways to a value", ways + "}}", "too many times"},
		{"with a billion ways to a member", `{"properties":{"a":` + strings.ReplaceAll(ways, `#/`, `#/properties/a/`) + "}}}}", "too many times"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			_, err := CompileSchema("schema", []byte(tt.schema))
			var f *weir.FieldError
			if !errors.As(err, &f) || f.Code != BadSchema || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if took := time.Since(began); took > longest {
				t.Errorf("took %v", took)
			}
		})
	}
}

// A schema may speak of itself, as trees do, but only once for each part.
func TestSchemasThatSpeakOfThemselves(t *testing.T) {
	for _, tt := range []struct {
		name, schema string
		good         bool
	}{
		{"a tree", `{"properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}`, true},
		{"a list of lists", `{"type":"array","items":{"$ref":"#"}}`, true},
		{"a tree with more", `{"allOf":[{"properties":{"next":{"$ref":"#"}}},{"properties":{"name":{"type":"string"}}}]}`, true},
		{"anything below", `{"properties":{"a":{"$ref":"#"}},"additionalProperties":{"$ref":"#"}}`, true},
		{"the same part, twice and flat", `{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{"minLength":1}}}]}`, true},
		{"twice by allOf", `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, false},
		{"twice by a detour", `{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#"}]}},"$defs":{"x":{"properties":{"a":{"$ref":"#"}}}}}`, false},
		{"twice in lists", `{"items":{"$ref":"#"},"contains":{"$ref":"#"}}`, false},
		{"twice by a pattern", `{"properties":{"ab":{"$ref":"#"}},"patternProperties":{"^a":{"$ref":"#"}}}`, false},
	} {
		if _, err := CompileSchema("schema", []byte(tt.schema)); (err == nil) != tt.good {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestACircleInASchemaEnds(t *testing.T) {
	s, err := CompileSchema("schema", []byte(`{"$ref":"#"}`))
	if err == nil {
		if got := s.Check("x", []byte(`1`)); len(got) == 0 {
			t.Error("a circle accepts everything")
		}
	}
}
