package server

import (
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
)

func TestBoundsAreToldInOurWords(t *testing.T) {
	for message, want := range map[string]api.Fault{
		`expected value to be one of "smooth, full"`: {Code: "bad_value", Message: "is not an allowed value", Fix: "choose one of smooth, full"},
		"expected number <= 100":                     {Code: "out_of_range", Message: "is more than 100", Fix: "write 100 or less"},
		"expected length <= 128":                     {Code: "out_of_range", Message: "has more than 128 characters", Fix: "shorten it to 128"},
		"expected array length >= 1":                 {Code: "out_of_range", Message: "has fewer than 1 entries", Fix: "write at least 1"},
		"expected string to be RFC 3339 date-time":   {Code: "bad_value", Message: "is not a time", Fix: "write it as in 2026-01-31T18:00:00Z"},
		"invalid integer":                            {Code: "out_of_range", Message: "is not a whole number", Fix: "write digits alone, as in 50"},
	} {
		var got api.Fault
		if !outOfBounds(&got, message) || got != want {
			t.Errorf("%q is told as %+v, want %+v", message, got, want)
		}
	}
	if outOfBounds(&api.Fault{}, "expected object") {
		t.Error("a value of another type is taken for one that is out of bounds")
	}
}

func TestEveryProblemHasAFix(t *testing.T) {
	for code := range meanings {
		if p := newProblem(code, "x", ""); p.Fix == "" {
			t.Errorf("a problem %s without a fix of its own has none", code)
		}
	}
	p := problemOf(&weir.InputError{Fields: []*weir.FieldError{{Code: "bad_time", Field: "at", Problem: "has passed"}}})
	if p.Fix == "" || p.Errors[0].Fix == "" {
		t.Errorf("problem %+v, want a fix in the answer and in its errors", p.Problem)
	}
}
