package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// calls are the requests of the API behind a page, so that every page can show how to do the same without it.
type calls struct {
	keyed bool // they carried an API key
	list  []string
	did   []string // those that changed something
	// weir and didWeir are the same as commands of weir, for pages and forms without a command of their own.
	weir, didWeir []string
}

// mostCalls is how many requests a page shows.
const mostCalls = 6

func (c *calls) forget() { c.list, c.weir = nil, nil }

// add notes a request as a command of curl and of weir, once.
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
	line, same := b.String(), "weir api "+method+" "+quoted(target)
	if len(body) > 0 {
		same += " -d " + quoted(string(body))
	}
	c.note(line, same)
	if method != http.MethodGet && len(c.did) < mostCalls {
		c.did, c.didWeir = append(c.did, line), append(c.didWeir, same)
	}
}

func (c *calls) note(curl, weir string) {
	if len(c.list) < mostCalls && !slices.Contains(c.list, curl) {
		c.list, c.weir = append(c.list, curl), append(c.weir, weir)
	}
}

// join adds what another one noted, if those only read.
func (c *calls) join(o *calls) {
	for i, line := range o.list {
		c.note(line, o.weir[i])
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
	var doc any
	dec := json.NewDecoder(body)
	dec.UseNumber()
	if dec.Decode(&doc) != nil {
		return nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(masked(doc)) != nil {
		return nil
	}
	return bytes.TrimSpace(out.Bytes())
}

// masked replaces secrets, at any depth.
func masked(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = masked(v[i])
		}
	case map[string]any:
		for name, value := range v {
			if slices.Contains(secretMembers, name) && value != "" {
				v[name] = "…"
				continue
			}
			v[name] = masked(value)
		}
	}
	return v
}

// secretMembers are members of requests that people must not read over a shoulder.
var secretMembers = []string{"secret", "header", "password"}
