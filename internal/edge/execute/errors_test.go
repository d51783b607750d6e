package execute

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestForeignTextIsHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"plain é": "plain é", " a ": "a", "a\nb\x1b[2J\x00": `a\nb\x1b[2J\x00`, "\xff": `\xff`, "\u202e": `\u202e`,
		strings.Repeat("é", 300): strings.Repeat("é", 256),
	} {
		if got := Excerpt([]byte(in), 512); got != want {
			t.Errorf("Excerpt(%q) = %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		got := Excerpt(rapid.SliceOf(rapid.Byte()).Draw(t, "text"), limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("Excerpt = %q", got)
		}
	})
}
