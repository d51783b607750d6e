package schedule

import (
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// moment reads RFC 3339.
func moment(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// zone loads a zone of the database.
func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func rule(t testing.TB, expr, zone string) *Rule {
	t.Helper()
	r, err := ParseRule(expr, zone)
	if err != nil {
		t.Fatalf("ParseRule(%q, %q): %v", expr, zone, err)
	}
	return r
}

// wantField wants err to be about a field, with a code and a text.
func wantField(t testing.TB, err error, code, field, text string) {
	t.Helper()
	var f *weir.FieldError
	var in *weir.InputError
	if errors.As(err, &in) && len(in.Fields) == 1 {
		f = in.Fields[0]
	} else if !errors.As(err, &f) {
		t.Fatalf("error %v (%T), want one FieldError", err, err)
	}
	if f.Code != code || f.Field != field || f.Error() != field+": "+text {
		t.Errorf("error %s %q, want %s %q", f.Code, f.Error(), code, field+": "+text)
	}
}
