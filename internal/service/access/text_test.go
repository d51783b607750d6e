package access

import (
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/service/vault"
)

// newText draws a key.
func newText() (id string, text vault.Secret) {
	id = NewID()
	return id, textOf(id)
}

// mistype returns text with a different letter at the given position.
func mistype(text string, at int) string {
	letter := "x"
	if text[at] == letter[0] {
		letter = "y"
	}
	return text[:at] + letter + text[at+1:]
}

func TestKeysHaveOneForm(t *testing.T) {
	form := regexp.MustCompile(`^wk_[0-9a-z]{26}[0-9A-Za-z]{49}$`)
	seen := map[string]bool{}
	for range 200 {
		id, secret := newText()
		text := secret.Reveal()
		if got, ok := idOf(text); !form.MatchString(text) || !ok || got != id || seen[text] {
			t.Fatalf("key %s of %s is not well-formed", text, id)
		}
		seen[text] = true
	}
}

func TestTypingErrorsAreNoticedWithoutALookUp(t *testing.T) {
	_, secret := newText()
	text := secret.Reveal()
	swapped := []byte(text)
	at := strings.IndexFunc(text[30:], func(r rune) bool { return byte(r) != text[29] }) + 30
	swapped[29], swapped[at] = swapped[at], swapped[29]
	for name, wrong := range map[string]string{
		"empty": "", "cut": text[:len(text)-1], "longer": text + "a", "another prefix": "sk_" + text[3:], "blank before": " " + text,
		"two letters swapped": string(swapped), "capital letters": strings.ToUpper(text), "only the prefix": "wk_",
	} {
		if id, ok := idOf(wrong); ok {
			t.Errorf("%s: %s is taken for %s", name, wrong, id)
		}
	}
	for i := range text {
		for _, c := range "0aZ-\x00" {
			if wrong := text[:i] + string(c) + text[i+1:]; wrong != text {
				if _, ok := idOf(wrong); ok {
					t.Fatalf("letter %d changed to %q is not noticed", i, c)
				}
			}
		}
	}
}

func TestKeyOfARequest(t *testing.T) {
	for _, tt := range []struct{ header, want string }{
		{"Bearer wk_1", "wk_1"},
		{"bearer  wk_1 ", "wk_1"},
		{"", ""},
		{"Bearer", ""},
		{"Bearer ", ""},
		{"Basic dXNlcjpwYXNz", ""},
		{"wk_1", ""},
	} {
		got, err := FromHeader(http.Header{"Authorization": {tt.header}})
		if got != tt.want || (tt.want == "") != errors.Is(err, ErrNoCredentials) {
			t.Errorf("FromHeader(%q) = %q, %v, want %q", tt.header, got, err, tt.want)
		}
	}
}

func TestKeysInURLsAreFound(t *testing.T) {
	_, secret := newText()
	text := secret.Reveal()
	for _, tt := range []struct {
		raw  string
		want bool
	}{
		{"/v1/bulk-actions?limit=10", false},
		{"/v1/actions/wk_award", false},
		{"/v1/bulk-actions?key=" + text, true},
		{"/v1/bulk-actions?x=1&anything=" + text[:40], true},
		{"/v1/bulk-actions?a=%77k_" + text[3:], true},
		{"/v1/" + text + "/x", true},
		{"/v1/bulk-actions?access_token=x", true},
		{"/v1/bulk-actions?api_key=x", true},
	} {
		u, err := url.Parse(tt.raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := InURL(u); got != tt.want {
			t.Errorf("InURL(%s) = %v, want %v", tt.raw, got, tt.want)
		}
	}
}

// Hashes cannot be compared in a way whose duration tells how much of one was right.
func TestHashesAreComparedWhole(t *testing.T) {
	if reflect.TypeFor[hash]().Comparable() {
		t.Error("hashes can be compared by ==")
	}
	a := hashOf("a")
	if b := hashOf("a"); !a.equal(b.sum[:]) {
		t.Error("equal hashes differ")
	}
	for i := range a.sum {
		for bit := range 8 {
			b := a.sum
			b[i] ^= 1 << bit
			if a.equal(b[:]) {
				t.Fatalf("bit %d of byte %d does not count", bit, i)
			}
		}
		if a.equal(a.sum[:i]) || a.equal(append(a.sum[:], 0)) {
			t.Fatal("the length does not count")
		}
	}
}
