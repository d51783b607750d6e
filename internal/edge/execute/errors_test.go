package execute

import (
	"context"
	"errors"
	"net"
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

// A call without a connection did nothing. Of any other failed call that is not known, and a Go handler may have called
// others before the one that it could not reach.
func TestOnlyCallsThatWereNotMadeAreUndone(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{&CallError{Code: CodeUnreachable, Err: dial}, true},
		{&CallError{Code: CodeTooLarge, Err: errors.New("413")}, true},
		{&CallError{Code: CodeUnreachable, Err: &net.OpError{Op: "read", Err: errors.New("connection reset")}}, false},
		{&CallError{Code: CodeTimeout, Err: context.DeadlineExceeded}, false},
		{dial, false},
		{nil, false},
	} {
		if got := Undone(tt.err); got != tt.want {
			t.Errorf("Undone(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}
