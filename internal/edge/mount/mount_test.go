package mount

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAPrefixIsRemovedAsAWhole(t *testing.T) {
	h := Under("/bulk", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.EscapedPath()) }))
	for path, want := range map[string]string{
		"/bulk/v1/items/a%2Fb": "/v1/items/a%2Fb", "/bulk/": "/", "/bulk": "", "/v1/items": "/v1/items", "/bulky/v1": "/bulky/v1",
		"/bulk/bulk/v1": "/bulk/v1",
	} {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)); w.Body.String() != want {
			t.Errorf("%s is served as %q, want %q", path, w.Body, want)
		}
	}
}

func TestAnAddressThatIsNotCleanKeepsItsPrefix(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/ui/", func(http.ResponseWriter, *http.Request) {})
	h := Under("/bulk", mux)
	for path, want := range map[string]string{
		"/bulk/ui//": "/bulk/ui/", "/bulk/ui/./": "/bulk/ui/", "/bulk/ui//x?a=//b": "/bulk/ui/x?a=//b", "/bulk//evil.example/ui/": "/bulk/evil.example/ui/",
		"/bulk/ui/../../ui/": "/bulk/ui/", "/bulk/ui/x%2F%2Fy": "",
	} {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)); w.Header().Get("Location") != want {
			t.Errorf("%s leads to %q, want %q", path, w.Header().Get("Location"), want)
		}
	}
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/bulk/ui//sign-in", nil)); w.Code != http.StatusNotFound {
		t.Errorf("a form to an address that is not clean has status %d, want 404", w.Code)
	}
}

func TestOrigins(t *testing.T) {
	for _, good := range []string{"https://app.example.com", "http://localhost:3000", "https://[::1]:8443"} {
		if fault, fix := BadOrigin(good); fault != "" || fix != "" {
			t.Errorf("%q: %s; %s", good, fault, fix)
		}
	}
	for _, bad := range []string{"", "*", "app.example.com", "https://app.example.com/", "https://a.example.com/x", "https://*.example.com",
		"https://u@a.example.com", "ftp://a.example.com", "null", "https://App.example.com", "https://a.example.com?x", "https://"} {
		if fault, fix := BadOrigin(bad); fault == "" || fix == "" {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestPrefixes(t *testing.T) {
	for _, good := range []string{"", "/bulk", "/internal/weir-1", "/a.b", "/vault"} {
		if fault, fix := BadPrefix(good); fault != "" || fix != "" {
			t.Errorf("%q: %s; %s", good, fault, fix)
		}
	}
	for _, bad := range []string{"bulk", "/", "/bulk/", "//x", "/a/./b", "/a?b", "/ä", "/v1", "/ui", "/openapi.json", "/metrics/x"} {
		if fault, fix := BadPrefix(bad); fault == "" || fix == "" {
			t.Errorf("%q is accepted", bad)
		}
	}
}
