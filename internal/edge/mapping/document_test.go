package mapping

import "testing"

// A path is copied and an expression is computed; both have to say the same.
func TestAPathSaysWhatItsExpressionWould(t *testing.T) {
	docs := []string{
		``, `null`, `1`, `"text"`, `[1]`, `{}`, `{"a":null}`, `{"a":1}`, `{"a":{"b":2}}`, `{"a":{"b":null}}`, `{"a":{"b":{"c":"x"}}}`,
		`{"a":[1,{"b":2}],"b":true}`, `{"a":{"b":1},"a":{"b":2}}`, ` { "a" : { "b" : [ 1 , 2 ] } } `, `{"a":{"c":1,"b":12345678901234567890}}`,
	}
	paths := []string{`item`, `item.a`, `item.a.b`, `item?.a`, `item?.a?.b`, `item.a?.b`, `item.a?.b.c`, `item.a.b?.c`, `item["a"]["b"]`}
	for _, path := range paths {
		p, err := Compile(Step{Input: map[string]string{"x": path}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.members[0].path == nil {
			t.Errorf("%s is not seen as a path", path)
		}
		slow, err := Compile(Step{Input: map[string]string{"x": "true ? " + path + " : 1"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range docs {
			got, err := p.Input(Item{Data: []byte(doc)})
			want, wantErr := slow.Input(Item{Data: []byte(doc)})
			if sorted(t, got) != string(want) || (err == nil) != (wantErr == nil) {
				t.Errorf("%s of %s = %s, %v; its expression says %s, %v", path, doc, got, err, want, wantErr)
			}
		}
	}
}

// sorted is a document with its members in order, as expressions write them.
func sorted(t *testing.T, raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	v, err := value(raw)
	if err != nil {
		t.Fatal(err)
	}
	out, err := appendJSON(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestNumbersAreExactOrKeptAsDigits(t *testing.T) {
	for text, want := range map[string]any{
		"0": 0, "-0": 0, "12": 12, "9223372036854775807": 9223372036854775807, "9223372036854775808": exact("9223372036854775808"),
		"0.1": 0.1, "1.50": 1.5, "100e-2": 1.0, "1e3": 1000.0, "0.30000000000000004": 0.30000000000000004, "0.0": 0.0,
		"3.14159265358979323846": exact("3.14159265358979323846"), "1e400": exact("1e400"), "1e-400": exact("1e-400"), "-1.25E+2": -125.0,
	} {
		if got := number(text); got != want {
			t.Errorf("number(%s) = %T %v, want %T %v", text, got, got, want, want)
		}
	}
}
