package execute

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
)

// maxURL is the longest URL of an endpoint, in bytes.
const maxURL = 2048

// ownHeaders lists the headers that the call itself sets.
var ownHeaders = []string{
	"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Trailer", "Transfer-Encoding", "Upgrade",
	HeaderID, HeaderTimestamp, HeaderSignature,
}

// ParseURL checks the form of a URL that a call may go to, and returns its port as well. Errors have the code
// bad_url and do not repeat the URL, which may hold a password or a token.
func ParseURL(raw string) (*url.URL, uint16, *weir.FieldError) {
	bad := func(problem, fix string) (*url.URL, uint16, *weir.FieldError) {
		return nil, 0, &weir.FieldError{Code: "bad_url", Field: "url", Problem: problem, Fix: fix}
	}
	const example = "write it as in https://push.example.com/batch"
	if len(raw) > maxURL {
		return bad(fmt.Sprintf("has %d bytes", len(raw)), fmt.Sprintf("at most %d are allowed", maxURL))
	}
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return bad("is empty", example)
	case err != nil:
		return bad("is not a URL", example)
	case u.Scheme != "http" && u.Scheme != "https":
		return bad(fmt.Sprintf("scheme %+.64q is not supported", u.Scheme), "use http or https")
	case u.User != nil:
		return bad("holds a user name or password", "send them as a header")
	case strings.Contains(raw, "#"):
		return bad("has a fragment", "remove # and what follows")
	case u.Hostname() == "":
		return bad("has no host", example)
	}
	port, ok := portOf(u)
	if !ok {
		return bad(fmt.Sprintf("port %s is not between 1 and 65535", cmp.Or(u.Port(), `""`)), "correct it or leave it out")
	}
	return u, port, nil
}

func portOf(u *url.URL) (port uint16, ok bool) {
	switch {
	case u.Port() != "" || strings.HasSuffix(u.Host, ":"):
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		return uint16(n), err == nil && n > 0
	case u.Scheme == "http":
		return 80, true
	}
	return 443, true
}

// header returns the headers of every call of an endpoint.
func header(extra map[string]string) (http.Header, error) {
	h := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"application/json"},
		"User-Agent":   {"weir"},
	}
	for name, value := range extra {
		bad := func(problem, fix string) (http.Header, error) {
			return nil, &weir.FieldError{Code: "bad_header", Field: "header." + strconv.QuoteToASCII(name), Problem: problem, Fix: fix}
		}
		key := http.CanonicalHeaderKey(name)
		switch {
		case !isToken(name):
			return bad("is not a header name", "use letters, digits and '-'")
		case slices.Contains(ownHeaders, key):
			return bad("is set by weir", "leave it out")
		case strings.ContainsFunc(value, isControl):
			return bad("has a control character in its value", "remove it")
		}
		h[key] = []string{value}
	}
	return h, nil
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
