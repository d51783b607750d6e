package command

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
)

func TestCellsCannotSpeakToTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                  "plain",
		"\x1b[31mred\x1b[0m":     " [31mred [0m",
		"two\nlines\tand a tab":  "two lines and a tab",
		strings.Repeat("x", 100): strings.Repeat("x", 59) + "…",
	} {
		if got := Cell(text); got != want {
			t.Errorf("cell(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestValuesArePlainForProgramsAndReadableForPeople(t *testing.T) {
	at := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		value         any
		plain, people string
	}{
		{int64(1234567), "1234567", "1,234,567"},
		{at, "2026-11-15T12:00:00Z", "2026-11-15 12:00:00Z"},
		{time.Time{}, "", ""},
		{api.Duration(90 * time.Second), "1m30s", "1m30s"},
		{false, "false", ""},
		{true, "true", "yes"},
		{[]string{"a", "b"}, "a,b", "a,b"},
		{api.Rate(450), "450/s", "450/s"},
		{nil, "", ""},
	} {
		if got := plainText(tt.value); got != tt.plain {
			t.Errorf("plainText(%#v) = %q, want %q", tt.value, got, tt.plain)
		}
		if got := People(tt.value); got != tt.people {
			t.Errorf("people(%#v) = %q, want %q", tt.value, got, tt.people)
		}
	}
}

func TestAListSaysThatItWasCut(t *testing.T) {
	var out, said bytes.Buffer
	l := &Printer{Env: &Env{Stdout: &out, Stderr: &said}}
	v := View[string]{ID: func(s *string) string { return *s }, Columns: []Column[string]{{"name", func(s *string) any { return *s }}}}
	for _, tt := range []struct {
		as   Format
		want string
	}{
		{Table, "NAME\na\nb\n"},
		{ID, "a\nb\n"},
		{CSV, "name\na\nb\n"},
		{NDJSON, "\"a\"\n\"b\"\n"},
		{JSON, "{\n  \"data\": [\n    \"a\",\n    \"b\"\n  ],\n  \"has_more\": true\n}\n"},
	} {
		out.Reset()
		said.Reset()
		l.Out = tt.as
		if err := List(l, v, Seq([]string{"a", "b", "c"}), 2); err != nil || out.String() != tt.want || !strings.Contains(said.String(), "--limit 0") {
			t.Errorf("as %s: %q, %v, said %q; want %q", tt.as, out.String(), err, said.String(), tt.want)
		}
	}
}

func TestAnErrorEndsAListAsAnError(t *testing.T) {
	broken := errors.New("gone")
	all := func(yield func(string, error) bool) { _ = yield("a", nil) && yield("", broken) }
	for _, as := range []Format{Table, ID, CSV, NDJSON, JSON} {
		l := &Printer{Env: &Env{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, Out: as}
		v := View[string]{ID: func(s *string) string { return *s }}
		if err := List(l, v, all, 0); !errors.Is(err, broken) {
			t.Errorf("as %s: %v, want %v", as, err, broken)
		}
	}
}
