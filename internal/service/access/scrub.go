package access

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/weirhq/weir/internal/service/vault"
)

// secretFields are parts of the names of fields whose values must be hidden.
var secretFields = []string{"secret", "password", "passwd", "token", "authorization", "api_key", "apikey",
	"private_key", "credential", "cookie", "dsn"}

// secretTexts matches secrets by their form: our keys, signing secrets, sealed secrets, private
// keys, and passwords in URLs.
var secretTexts = regexp.MustCompile(textPrefix + `[0-9A-Za-z]{20,}` +
	`|whsec_[0-9A-Za-z+/=_-]{16,}|whsk_[0-9A-Za-z+/=_-]{16,}|sealed1\.[0-9a-f]+\.[0-9A-Za-z_-]+` +
	`|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(-----END [A-Z ]*PRIVATE KEY-----)?|//[^/\s:@]*:[^/\s@]+@`)

// secretMarks are what the matches of secretTexts begin with. Nearly all texts have none of them, which is found out much
// faster.
var secretMarks = []string{textPrefix, "whsec_", "whsk_", "sealed1.", "-----BEGIN ", "//"}

func hideKeys(s string) string {
	if !slices.ContainsFunc(secretMarks, func(mark string) bool { return strings.Contains(s, mark) }) {
		return s
	}
	return secretTexts.ReplaceAllStringFunc(s, func(found string) string {
		if strings.HasPrefix(found, "//") {
			return "//" + vault.Shown + "@"
		}
		return vault.Shown
	})
}

// Scrub replaces secrets in a JSON text: values of fields with telling names, and texts that look
// like secrets. States should hold none; Scrub protects the audit log, which is kept for years, if
// a field was forgotten.
func Scrub(raw []byte) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("scrub: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("scrub: text after the JSON value")
	}
	out, err := json.Marshal(scrub(v))
	if err != nil {
		return nil, fmt.Errorf("scrub: %w", err)
	}
	return out, nil
}

func scrub(v any) any {
	switch v := v.(type) {
	case string:
		return hideKeys(v)
	case []any:
		for i := range v {
			v[i] = scrub(v[i])
		}
	case map[string]any:
		for name, inner := range v {
			if namesSecret(name) {
				v[name] = hide(inner)
				continue
			}
			v[name] = scrub(inner)
		}
	}
	return v
}

func namesSecret(field string) bool {
	field = strings.ReplaceAll(strings.ToLower(field), "-", "_")
	for _, part := range secretFields {
		if strings.Contains(field, part) {
			return true
		}
	}
	return false
}

// hide keeps null, booleans and the empty string: they reveal at most whether a secret is set.
func hide(v any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		if v == "" {
			return v
		}
	}
	return vault.Shown
}
