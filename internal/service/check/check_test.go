package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
)

func TestNamesFitIntoPathsAndLabels(t *testing.T) {
	for name, good := range map[string]bool{
		"send-message": true, "a.b_C-9": true, strings.Repeat("a", MaxName): true,
		"": false, ".": false, "..": false, "a/b": false, "a b": false, "ä": false, "a\n": false, strings.Repeat("a", MaxName+1): false,
	} {
		if err := Name("name", name); (err == nil) != good {
			t.Errorf("Name(%q) = %v, want good: %v", name, err, good)
		}
	}
}

func TestTenantsAndTextsArePrintable(t *testing.T) {
	for text, good := range map[string]bool{"growth": true, "équipe Ω": true, "a\tb": false, "a\x7f": false, "\xff": false, strings.Repeat("a", MaxName+1): false} {
		var bad weir.InputError
		Text(&bad, "title", text)
		if err := Tenant("tenant", text); (err == nil) != good || (bad.OrNil() == nil) != good {
			t.Errorf("%q: Tenant = %v, Text = %v; want good: %v", text, err, bad.OrNil(), good)
		}
	}
	if Tenant("tenant", "") == nil {
		t.Error("an empty tenant is accepted")
	}
	var bad weir.InputError
	Labels(&bad, map[string]string{"good": "x", "b\x00": "x", "c": "\n"})
	if len(bad.Fields) != 2 {
		t.Errorf("Labels found %d faults, want 2", len(bad.Fields))
	}
}

func TestFaultsAreCollectedUnderTheirPlace(t *testing.T) {
	var inner, bad weir.InputError
	inner.Add("bad_value", "url", "is wrong", "correct it")
	inner.Add("bad_value", "name", "is wrong", "correct it")
	if !AddUnder(&bad, "bulk_action.", fmt.Errorf("wrapped: %w", &inner)) || !AddUnder(&bad, "x.", &weir.FieldError{Field: "y"}) || AddUnder(&bad, "", errors.New("other")) {
		t.Fatal("AddUnder takes faults of input, and nothing else")
	}
	Add(&bad, errors.New("cannot be read"), "bad_source", "source")
	var fields []string
	for _, f := range bad.Fields {
		fields = append(fields, f.Field)
	}
	if got := strings.Join(fields, " "); got != "bulk_action.url bulk_action.name x.y source" || bad.Fields[3].Code != "bad_source" {
		t.Errorf("fields = %q, the last with code %q", got, bad.Fields[3].Code)
	}
}

func TestAnUnknownNameIsAnsweredWithTheKnownOnes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		known []string
		want  string
	}{
		{"send", nil, "none yet"},
		{"award", []string{"send"}, "known: send"},
		{"sned", []string{"award", "send"}, "did you mean send? known: award, send"},
	} {
		if got := Known(tt.name, tt.known, "none yet"); got != tt.want {
			t.Errorf("Known(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := Known("x", make([]string, 100), ""); strings.Count(got, ",") != MaxNamed-1 {
		t.Errorf("%q names more than %d", got, MaxNamed)
	}
}

func TestKindsOfErrors(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		err                       error
		invalid, refused, nothing bool
	}{
		{"bad input", &weir.InputError{Fields: []*weir.FieldError{{}}}, true, true, true},
		{"a bad field", fmt.Errorf("create: %w", &weir.FieldError{}), true, true, true},
		{"a repeated id", &weir.DuplicateError{}, true, true, true},
		{"a refusal", &Refusal{Code: "sealed"}, false, true, true},
		{"a full backlog", &weir.BacklogError{}, false, false, true},
		{"a failing store", errors.New("timeout"), false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if Invalid(tt.err) != tt.invalid || Refused(tt.err) != tt.refused || NothingDone(tt.err) != tt.nothing {
				t.Errorf("Invalid %v, Refused %v, NothingDone %v", Invalid(tt.err), Refused(tt.err), NothingDone(tt.err))
			}
		})
	}
	if IgnoreRemoved(weir.ErrExpired) != nil || IgnoreRemoved(fmt.Errorf("x: %w", weir.ErrNotFound)) != nil || records.IgnoreGone(weir.ErrExpired) == nil {
		t.Error("IgnoreRemoved ignores what is gone or expired, IgnoreGone only what is gone")
	}
}
