package mapping

import (
	"strings"
	"testing"
)

// A comma in a number is not guessed: the error names both meanings, and with a decimal comma a point alone is refused.
func TestACommaInANumberIsNotGuessed(t *testing.T) {
	r := &run{left: 1000}
	for _, tt := range []struct {
		args         []any
		problem, fix string
	}{
		{[]any{"amount", "2,5"}, `"2,5" is not a number: it has a comma`, "if that is a decimal comma"},
		{[]any{"amount", "1.234,56"}, `it has a comma`, "if that is a decimal comma"},
		{[]any{"amount", "2,5x"}, `"2,5x" is not a number`, "write a number as in 12.5"},
		{[]any{"amount", "1.234", ","}, `"1.234" is not a number with a decimal comma`, "a point alone may be a decimal point or separate thousands"},
		{[]any{"amount", "1,234.5", ","}, `is not a number with a decimal comma`, "12,5"},
		{[]any{"amount", "12.34,5", ","}, `is not a number with a decimal comma`, "12,5"},
	} {
		got, err := toFloat(r, tt.args)
		bad, ok := err.(*badValue)
		if !ok || !strings.Contains(bad.problem, tt.problem) || !strings.Contains(bad.fix, tt.fix) {
			t.Errorf("float%q = %v, %v; want %s; %s", tt.args[1:], got, err, tt.problem, tt.fix)
		}
	}
	for text, want := range map[string]float64{"2,5": 2.5, "1.234,56": 1234.56, "1234567,5": 1234567.5, " 7 ": 7, "-0,5": -0.5} {
		if got, err := toFloat(r, []any{"amount", text, ","}); got != want || err != nil {
			t.Errorf("float(%q, \",\") = %v, %v; want %v", text, got, err, want)
		}
	}
	if _, err := toFloat(r, []any{"amount", "2;5", ";"}); err == nil {
		t.Error("a decimal sign that no number has is accepted")
	}
}
