package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNormalMessage(t *testing.T) {
	for _, tt := range []struct{ message, want string }{
		{"", ""},
		{"wallet is closed", "wallet is closed"},
		{"balance 12.50 is below 1,000", "balance <n> is below <n>"},
		{"no answer from 10.0.0.17:8080 after 1.5s", "no answer from <n>:<n> after <n>s"},
		{"user u42 not found", "user u<n> not found"},
		{"at 2026-11-15T14:00:00Z", "at <n>-<n>-<n>T<n>:<n>:<n>Z"},
		{"request 123e4567-e89b-12d3-a456-426614174000 failed", "request <id> failed"},
		{"trace 4f2c9a01bb", "trace <id>"},
		{"bulk action ba_01k9xabcdef01234", "bulk action ba_<id>"},
		{"pointer 0x1f", "pointer <id>"},
		{"facade decade", "facade decade"},
		{`field "amount" has 'bad value' and ` + "`x`", "field <text> has <text> and <text>"},
		{`"a \" b" left`, "<text> left"},
		{"don't and can't", "don't and can't"},
		{`an open " quote 7`, `an open " quote <n>`},
		{"cannot reach anna.b+tag@mail.example.com.", "cannot reach <email>."},
		{"user@localhost is no address", "user@localhost is no address"},
		{"  many \n\t spaces  ", "many spaces"},
		{"über 3 Größen", "über <n> Größen"},
	} {
		if got := string(appendNormal(nil, tt.message)); got != tt.want {
			t.Errorf("normal form of %q = %q, want %q", tt.message, got, tt.want)
		}
	}
}

func TestNormalMessageIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := strings.Repeat(rapid.String().Draw(t, "message"), rapid.IntRange(1, 2000).Draw(t, "times"))
		got := appendNormal([]byte("kept"), message)
		if !strings.HasPrefix(string(got), "kept") || len(got) > len("kept")+maxNormal+len("…") {
			t.Fatalf("normal form of %d bytes has %d", len(message), len(got))
		}
		if utf8.ValidString(message[:min(len(message), maxRead)]) && !utf8.Valid(got) {
			t.Fatalf("normal form of %q is %q: a character was cut", message, got)
		}
	})
}

func TestGrouperIsExactInWhateverPartsItCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Row {
			return Row{
				ID: rapid.StringMatching(`u[0-9]{1,3}`).Draw(t, "id"), State: rapid.SampledFrom([]string{Done, Failed, Failed}).Draw(t, "state"),
				Step: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "step"), Code: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "code"),
				Message: rapid.SampledFrom([]string{"limit %d", "no user '%d'", "closed"}).Draw(t, "message"),
			}
		})).Draw(t, "rows")
		failed := 0
		var whole Grouper
		parts := make([]Grouper, 4)
		for i, r := range rows {
			if strings.Contains(r.Message, "%d") {
				r.Message = fmt.Sprintf(r.Message, i)
			}
			if r.State == Failed {
				failed++
			}
			whole.Add(r)
			parts[rapid.IntRange(0, 3).Draw(t, "part")].Add(r)
		}
		var merged Grouper
		for _, i := range rand.Perm(len(parts)) {
			merged.Merge(&parts[i])
		}
		if d := cmp.Diff(whole.Groups(), merged.Groups()); d != "" {
			t.Fatalf("merged groups differ (-whole +merged):\n%s", d)
		}
		sum := 0
		for _, g := range merged.Groups() {
			sum += g.Count
		}
		if sum != failed || len(merged.Groups()) > 2*2*3 {
			t.Fatalf("%d failures in %d groups, want %d in at most 12", sum, len(merged.Groups()), failed)
		}
	})
}

func TestGroupsOrder(t *testing.T) {
	var g Grouper
	for _, r := range []Row{
		{ID: "9", Step: "s", Code: "b", Message: "one 1"},
		{ID: "8", Step: "s", Code: "a", Message: "two"},
		{ID: "7", Step: "s", Code: "c", Message: "many 1"},
		{ID: "6", Step: "s", Code: "c", Message: "many 2"},
	} {
		r.State = Failed
		g.Add(r)
	}
	want := []Group{
		{"s", "c", "many <n>", 2, Sample{"6", "many 2"}},
		{"s", "a", "two", 1, Sample{"8", "two"}},
		{"s", "b", "one <n>", 1, Sample{"9", "one 1"}},
	}
	if d := cmp.Diff(want, g.Groups()); d != "" {
		t.Errorf("groups (-want +got):\n%s", d)
	}
}
