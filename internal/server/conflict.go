package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxNoted limits how many fields of a request are recorded to name those that differ.
const maxNoted = 64

// noted is the record of a request that shows what differs in another with the same key: never its content.
func noted(r *http.Request, v *visit) map[string]string {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(v.raw, &members) // a request without a body has no fields
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(members))[:min(len(members), maxNoted)] {
		out[name] = hash(compact(members[name]))[:16]
	}
	out[" path"] = hash(r.Method + r.URL.Path)[:16]
	return out
}

// compact is a JSON value without the spaces between its parts: they make no difference to what a field says.
func compact(value json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, value) // it came from JSON
	return b.String()
}

// conflict is the answer to a key that was used for another request.
func conflict(key string, before *remembered, now map[string]string) *problem {
	differ := differing(before.Fields, now)
	what := "was used for another request (" + before.Route + ")"
	switch {
	case slices.Contains(differ, " path"):
	case len(differ) > 0:
		what = "was used before, with another body: " + differs(differ)
	default:
		what = "was used before, and the body is not the same byte for byte"
	}
	return newProblem("idempotency_conflict", fmt.Sprintf("Idempotency-Key %q %s", shorten(key), what),
		"use another key for another request")
}

// maxNamed limits how many differing fields are named.
const maxNamed = 8

// differs says in a sentence which fields differ.
func differs(names []string) string {
	if len(names) == 1 {
		return names[0] + " differs"
	}
	last := names[len(names)-1]
	names = names[:len(names)-1]
	if more := len(names) + 1 - maxNamed; more > 0 {
		names, last = names[:maxNamed], strconv.Itoa(more)+" more"
	}
	return strings.Join(names, ", ") + " and " + last + " differ"
}

// differing lists the fields that two requests do not have in common.
func differing(a, b map[string]string) (names []string) {
	for name := range a {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, both := a[name]; !both && len(a) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
