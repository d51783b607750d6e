package source

import "testing"

func TestMembersAreRenamed(t *testing.T) {
	for _, tt := range []struct {
		name, doc, want string
		names           Names
	}{
		{"no names", `{"a": 1}`, `{"a": 1}`, nil},
		{"one", `{"E-Mail": "x", "n": [1, {"E-Mail": 2}]}`, `{"email":"x","n":[1, {"E-Mail": 2}]}`, Names{"email": "E-Mail"}},
		{"taken from another", `{"email": "", "E-Mail": "x"}`, `{"email":"x"}`, Names{"email": "E-Mail"}},
		{"swapped", `{"a": 1, "b": 2}`, `{"b":1,"a":2}`, Names{"a": "b", "b": "a"}},
		{"one column for two", `{"c": 1}`, `{"a":1,"b":1}`, Names{"a": "c", "b": "c"}},
		{"itself", `{"a": 1}`, `{"a":1}`, Names{"a": "a"}},
		{"escaped", `{"\u0061": "\u00e4"}`, `{"b":"\u00e4"}`, Names{"b": "a"}},
		{"a column that is missing", `{"a": 1}`, `{"a":1}`, Names{"x": "y"}},
		{"empty", `{}`, `{}`, Names{"x": "y"}},
		{"no object", `[{"y": 1}]`, `[{"y": 1}]`, Names{"x": "y"}},
		{"damaged", `{"y": `, `{"y": `, Names{"x": "y"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.names.Rename([]byte(tt.doc))); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
