package dashboard

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// calls are the requests of the API behind a page, so that every page can show how to do the same without it.
type calls struct {
	keyed bool // they carried an API key
	list  []string
	did   []string // those that changed something
}

// mostCalls is how many requests a page shows.
const mostCalls = 6

func (c *calls) forget() { c.list = nil }

// changes returns those requests that changed something.
func (c *calls) changes() []string { return c.did }

// add notes a request as a command of curl, once.
func (c *calls) add(method, target string, body []byte) {
	b := strings.Builder{}
	b.WriteString("curl ")
	if method != http.MethodGet && (method != http.MethodPost || len(body) == 0) {
		b.WriteString("-X " + method + " ")
	}
	if c.keyed {
		b.WriteString(`-H "Authorization: Bearer $WEIR_API_KEY" `)
	}
	b.WriteString(`"$WEIR_SERVER"` + quoted(target))
	if len(body) > 0 {
		b.WriteString(" -H 'Content-Type: application/json' -d " + quoted(string(body)))
	}
	line := b.String()
	if len(c.list) < mostCalls && !slices.Contains(c.list, line) {
		c.list = append(c.list, line)
	}
	if method != http.MethodGet && len(c.did) < mostCalls {
		c.did = append(c.did, line)
	}
}

// quoted writes a text as one word of a shell.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// recorder notes the requests that pass.
type recorder struct {
	next http.RoundTripper
	to   *calls
}

// RoundTrip implements http.RoundTripper.
func (t recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	t.to.add(r.Method, r.URL.RequestURI(), shown(r))
	return t.next.RoundTrip(r)
}

// mostShown is the longest body that is shown.
const mostShown = 2000

// shown returns the body of a request as people may see it: without secrets, and cut.
func shown(r *http.Request) []byte {
	if r.GetBody == nil || r.ContentLength <= 0 || r.Header.Get("Content-Type") != "application/json" {
		return nil
	}
	if r.ContentLength > mostShown {
		return []byte("…")
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	raw, err := io.ReadAll(body)
	var members map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &members) != nil {
		return nil
	}
	hidden := false
	for _, secret := range []string{"secret", "header", "key"} {
		if _, has := members[secret]; has {
			members[secret], hidden = json.RawMessage(`"…"`), true
		}
	}
	if !hidden {
		return bytes.TrimSpace(raw)
	}
	raw, err = json.Marshal(members)
	if err != nil {
		return nil
	}
	return raw
}
