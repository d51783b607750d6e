package registry

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/stored"
)

func TestValuesOfParametersAreHeldAgainstTypeBoundsAndList(t *testing.T) {
	raw := func(text string) json.RawMessage {
		if text == "" {
			return nil
		}
		return json.RawMessage(text)
	}
	for _, tt := range []struct {
		kind, min, max, allowed string
		value, want             string // want: the code and a part of the problem; empty: nothing is wrong
	}{
		{"string", "", "", "", `"spring"`, ""},
		{"string", "", "", "", `5`, "bad_value 5 is not a string"},
		{"string", "", "", "", `null`, "bad_value null is not a string"},
		{"string", "2", "4", "", `"über"`, ""},
		{"string", "2", "4", "", `"ü"`, `out_of_range "ü" is less than 2 characters`},
		{"string", "2", "4", "", `"overs"`, `out_of_range "overs" is more than 4 characters`},
		{"string", "", "", `["a","b"]`, `"b"`, ""},
		{"string", "", "", `["a","b"]`, `"c"`, `bad_value "c" is not an allowed value`},
		{"number", "0.5", "", "", `0.5`, ""},
		{"number", "0.5", "", "", `0.4`, "out_of_range 0.4 is less than 0.5"},
		{"number", "", "", `[1,2.5]`, `25e-1`, ""},
		{"number", "", "", "", `"1"`, `bad_value "1" is not a number`},
		{"integer", "", "", "", `3.0`, ""},
		{"integer", "", "", "", `3.5`, "bad_value 3.5 is not a whole number"},
		{"integer", "", "", "", `9007199254740992`, "bad_value"},
		{"integer", "", "", "", `1e999`, "bad_value"},
		{"integer", "-3", "3", "", `-4`, "out_of_range -4 is less than -3"},
		{"boolean", "", "", "", `true`, ""},
		{"boolean", "", "", "", `"true"`, "bad_value"},
		{"boolean", "", "", `[true]`, `false`, "bad_value"},
		{"date", "", "", "", `"2028-02-29"`, ""},
		{"date", "", "", "", `"2027-02-29"`, "bad_value"},
		{"date", "", "", "", `"24.12.2026"`, "bad_value"},
		{"date", `"2026-01-01"`, `"2026-12-31"`, "", `"2026-12-31"`, ""},
		{"date", `"2026-01-01"`, `"2026-12-31"`, "", `"2027-01-01"`, `out_of_range "2027-01-01" is more than "2026-12-31"`},
		{"date", `"0001-01-01"`, "", "", `"0000-12-31"`, "out_of_range"},
	} {
		p := templateParam{Name: "x", Type: tt.kind, Min: raw(tt.min), Max: raw(tt.max)}
		if tt.allowed != "" {
			if err := json.Unmarshal([]byte(tt.allowed), &p.Allowed); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		if f := paramFault(&p, raw(tt.value)); f != nil {
			got = f.Code + " " + f.Problem
			if f.Fix == "" {
				t.Errorf("%s as %s: %q has no fix", tt.value, tt.kind, got)
			}
		}
		if (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s as %s from %s to %s of %s: %q, want %q", tt.value, tt.kind, tt.min, tt.max, tt.allowed, got, tt.want)
		}
	}
}

func TestParametersAreWhatIsFixedThenWhatIsGivenThenTheDefault(t *testing.T) {
	tpl := &storedTemplate{
		Name: "spring", BulkAction: stored.Spec{Params: json.RawMessage(`{"team":"growth"}`)},
		Params: []templateParam{
			{Name: "season", Type: "string", Default: json.RawMessage(`"spring"`)},
			{Name: "note", Type: "string"},
			{Name: "amount", Type: "integer", Required: true},
		},
	}
	for _, tt := range []struct{ given, want, faults string }{
		{`{"amount":5}`, `{"amount":5,"season":"spring","team":"growth"}`, ""},
		{`{"amount":5,"season":"autumn","note":"x"}`, `{"amount":5,"note":"x","season":"autumn","team":"growth"}`, ""},
		{`{"amount":5,"team":"sales"}`, "", "params.team"},
		{``, "", "params.amount"},
		{`7`, "", "params"},
	} {
		var bad weir.InputError
		got, err := paramsFor(&bad, tpl, json.RawMessage(tt.given))
		var fields []string
		for _, f := range bad.Fields {
			fields = append(fields, f.Field)
		}
		if faults := strings.Join(fields, " "); err != nil || faults != tt.faults || tt.faults == "" && string(got) != tt.want {
			t.Errorf("%s: %s with faults %q, %v; want %s, %q", tt.given, got, faults, err, tt.want, tt.faults)
		}
	}
	var bad weir.InputError
	if got, err := paramsFor(&bad, &storedTemplate{}, nil); got != nil || err != nil || bad.OrNil() != nil {
		t.Errorf("without any: %s, %v, %v", got, err, bad.OrNil())
	}
}
