package run

import (
	"testing"
)

func TestAnActionIsNamedByItsURL(t *testing.T) {
	for url, want := range map[string]string{
		"https://api.example.com:8443/v1/award?x=1": "api.example.com-8443-v1-award", "::": "http",
	} {
		if got := urlName(url); got != want {
			t.Errorf("urlName(%q) = %q, want %q", url, got, want)
		}
	}
}
