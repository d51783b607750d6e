package weir_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestATraceparentIsReadAndWritten(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"sampled", parent, parent},
		{"not sampled", strings.TrimSuffix(parent, "1") + "0", strings.TrimSuffix(parent, "1") + "0"},
		{"other flags are not passed on", strings.TrimSuffix(parent, "01") + "ff", parent},
		{"a later version", "cc" + parent[2:], parent},
		{"a later version with more", "cc" + parent[2:] + "-what-the-future-is", parent},
		{"a later version with more that is not set off", "cc" + parent[2:] + ".x", ""},
		{"version 00 with more", parent + "-x", ""},
		{"version ff", "ff" + parent[2:], ""},
		{"empty", "", ""},
		{"short", parent[:54], ""},
		{"upper case", strings.ToUpper(parent), ""},
		{"no trace", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		{"no span", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ""},
		{"not hexadecimal", strings.Replace(parent, "4bf", "4bg", 1), ""},
		{"flags that are not hexadecimal", strings.TrimSuffix(parent, "01") + "0x", ""},
		{"no dashes", strings.ReplaceAll(parent, "-", "_"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := weir.ParseTraceparent(tt.in).String(); got != tt.want {
				t.Errorf("ParseTraceparent(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add(parent)
	f.Add("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x")
	f.Fuzz(func(t *testing.T, s string) {
		c := weir.ParseTraceparent(s)
		if again := weir.ParseTraceparent(c.String()); again != c {
			t.Errorf("%q is read as %v, and written and read as %v", s, c, again)
		}
	})
}

func TestAContextCarriesASpan(t *testing.T) {
	if got := weir.TraceOf(context.Background()); !got.IsZero() {
		t.Errorf("TraceOf of an empty context = %v, want none", got)
	}
	want := weir.ParseTraceparent(parent)
	if got := weir.TraceOf(weir.WithTrace(context.Background(), want)); got != want {
		t.Errorf("TraceOf = %v, want %v", got, want)
	}
}
