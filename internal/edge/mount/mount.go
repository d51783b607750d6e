// Package mount serves a handler under a path prefix.
//
// The prefix is a setting, and not read from a header such as X-Forwarded-Prefix: links are also made without a
// request, for webhooks, and a header that a client can send would end up in answers for others.
package mount

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Under has next answer requests under a prefix. Requests without the prefix are answered, too: a proxy may have
// removed it, and probes of health come past the proxy.
func Under(prefix string, next http.Handler) http.Handler {
	if prefix == "" {
		return next
	}
	strip := http.StripPrefix(prefix, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, under := strings.CutPrefix(r.URL.EscapedPath(), prefix); under && (rest == "" || rest[0] == '/') {
			if to := clean(rest); to != rest { // a ServeMux behind would redirect to an address without the prefix
				tidy(w, r, prefix+to)
				return
			}
			strip.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// clean returns a path without empty parts and dots, as a ServeMux wants it.
func clean(p string) string {
	if p == "" {
		return p
	}
	to := path.Clean(p)
	if p[len(p)-1] == '/' && to != "/" {
		to += "/"
	}
	return to
}

// tidy leads to the clean address of a page. Nothing else is sent on: a form would take what it holds along.
func tidy(w http.ResponseWriter, r *http.Request, to string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusTemporaryRedirect)
}

// taken are the first parts of the paths of a server: a prefix that begins with one could not be told from them.
var taken = map[string]bool{
	"v1": true, "ui": true, "docs": true, "problems": true, "openapi": true, "metrics": true, "healthz": true, "readyz": true,
}

// BadOrigin says what is wrong with the origin of a web page, and what to do; both are empty if nothing is.
func BadOrigin(origin string) (fault, fix string) {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != origin ||
		strings.ContainsAny(u.Host, "* ") || strings.ToLower(origin) != origin {
		return "is not the origin of a page", "write it as in https://app.example.com: scheme, host in lower case and port, without a path"
	}
	return "", ""
}

// BadPrefix says what is wrong with a prefix, and what to do; both are empty if nothing is.
func BadPrefix(prefix string) (fault, fix string) {
	if prefix == "" {
		return "", ""
	}
	const form = "write it as in /bulk, with letters, digits, '-', '_' and '.', without a slash at the end"
	plain := strings.Trim(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == ""
	if !plain || prefix[0] != '/' || prefix == "/" || path.Clean(prefix) != prefix {
		return "is not the path of a prefix", form
	}
	first, _, _ := strings.Cut(prefix[1:], "/")
	if first, _, _ = strings.Cut(first, "."); taken[first] {
		return "begins like a path of the server itself", "choose another word than " + first
	}
	return "", ""
}
