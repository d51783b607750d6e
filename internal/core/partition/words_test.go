package partition

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestWordsOfNames(t *testing.T) {
	for _, tt := range []struct {
		name string
		want []string
	}{
		{"", nil},
		{"campaign-123", []string{"campaign", "123"}},
		{"  Spring/REWARD (2026) ", []string{"spring", "reward", "2026"}},
		{"Käse über", []string{"käse", "über"}},
		{"春の特典2026", []string{"春", "の", "特", "典", "2026"}},
		{"--", nil},
	} {
		if got := Words(tt.name); !slices.Equal(got, tt.want) {
			t.Errorf("Words(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestASearchMatchesHowWordsBegin(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"campaign-123", "camp", true},
		{"campaign-123", "CAMPAIGN-12", true},
		{"campaign-123", "12 camp", true},
		{"campaign-123", "paign", false},
		{"campaign-123", "campaigns", false},
		{"campaign-123", "c 1", true},
		{"campaign-123", "campaign-124", false},
		{"春の特典", "特典", true},
		{"a--b", "--", true},
		{"a-b", "--", false},
		{"anything", "", true},
	} {
		s := NewSearch(tt.text)
		if got := s.Match(tt.name); got != tt.want {
			t.Errorf("a search for %q matches %q: %t, want %t", tt.text, tt.name, got, tt.want)
		}
	}
}

// What a search matches has its terms, so that nothing is missed by looking them up.
func TestANameHasTheTermsOfASearchThatMatchesIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[aAbÄ特 2-]{0,12}`)
		name := text.Draw(t, "name")
		search := NewSearch(text.Draw(t, "text"))
		if !search.Match(name) {
			return
		}
		has := nameTerms(name)
		for _, term := range search.Terms() {
			if !slices.Contains(has, term) {
				t.Fatalf("%q has no term %x of %+v", name, term, search)
			}
		}
	})
}

func TestANameHasFewTerms(t *testing.T) {
	for name, want := range map[string]int{"": 0, "x": 1, "campaign-12": 7, "campaign campaign": 5, "camp campaign": 5} {
		if got := nameTerms(name); len(got) != want {
			t.Errorf("%q has %d terms, want %d", name, len(got), want)
		}
	}
}
