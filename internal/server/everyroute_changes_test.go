package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/api"
)

// audited are the entries of the audit by request.
func (w *world) audited() map[string][]api.AuditEntry {
	w.t.Helper()
	all := map[string][]api.AuditEntry{}
	for cursor := ""; ; {
		var page api.Page[api.AuditEntry]
		w.must(w.admin, "GET", "/v1/audit?limit=1000&cursor="+cursor, "", &page)
		for _, e := range page.Data {
			all[e.RequestID] = append(all[e.RequestID], e)
		}
		if cursor = page.NextCursor; !page.HasMore {
			return all
		}
	}
}

// TestEveryChangeIsAuditedOnce: what was changed is in the audit once, with who and what; what was refused or repeated is not.
func TestEveryChangeIsAuditedOnce(t *testing.T) {
	w := twoTenants(t, opening{})
	for _, r := range w.routes() {
		if !r.Change {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			w := w.in(t)
			makeCall := calls[r.ID]
			if makeCall == nil {
				t.Fatalf("%s %s (%s) changes something, and calls has no request for it", r.Method, r.Path, r.ID)
			}
			c := makeCall(w.acme)
			done := w.acme.do(r, c)
			if done.status >= 300 {
				t.Fatalf("%s %s %s: %d %s", r.Method, c.path, c.body, done.status, done.body)
			}
			refused := []answer{w.bare(w.acme.keys["admin"], r), w.bare(w.acme.keys["read"], r), w.bare("", r)}
			audit := w.audited()
			entries := audit[done.header.Get("Request-Id")]
			if len(entries) != 1 {
				t.Fatalf("%d entries of a change: %+v", len(entries), entries)
			}
			e := entries[0]
			if e.Action != r.ID || e.Key == "" || e.Actor == "" || e.From != "127.0.0.1" || e.At.IsZero() {
				t.Errorf("entry %+v", e)
			}
			if e.Target == "" {
				t.Errorf("the entry does not say what was changed: %+v", e)
			}
			if !c.operator && e.Tenant != w.acme.tenant {
				t.Errorf("the entry is of tenant %q: %+v", e.Tenant, e)
			}
			for _, a := range refused {
				if a.status >= 400 && len(audit[a.header.Get("Request-Id")]) > 0 {
					t.Errorf("a refusal (%d) is in the audit: %+v", a.status, audit[a.header.Get("Request-Id")])
				}
			}
		})
	}
}

// TestEveryKeyedRouteIsDoneOncePerKey: with an Idempotency-Key a request is done once, however often and at the same time it is sent.
func TestEveryKeyedRouteIsDoneOncePerKey(t *testing.T) {
	w := twoTenants(t, opening{})
	for _, r := range w.routes() {
		if !r.Keyed && r.ID != "bulk_action.append" || calls[r.ID] == nil { // an append is a stream, and knows repeats by itself
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			w := w.in(t)
			p := w.acme
			for name, bad := range map[string]string{"empty": "", "256 long": strings.Repeat("k", 256), "not ASCII": "schlüssel", "a tab": "a\tb"} {
				if a := p.do(r, call{path: p.nowhere(r), body: `{}`}, "Idempotency-Key", bad); a.status != 400 || a.problem().Code != "bad_idempotency_key" {
					t.Errorf("%s: %d %s", name, a.status, a.body)
				}
			}
			c := calls[r.ID](p)
			key := "key of " + r.ID
			first := p.do(r, c, "Idempotency-Key", key)
			again := p.do(r, c, "Idempotency-Key", key)
			if first.status >= 300 || first.header.Get("Idempotency-Replayed") != "" {
				t.Fatalf("first: %d %s", first.status, first.body)
			}
			if again.status != first.status || again.header.Get("Idempotency-Replayed") != "true" || again.header.Get("Location") != first.header.Get("Location") {
				t.Errorf("first %d %v, again %d %v", first.status, first.header, again.status, again.header)
			}
			if got, want := again.body, first.body; r.Once == "" && got != want || r.Once != "" && !leftOut(want, got, r.Once) {
				t.Errorf("first %s\nagain %s", want, got)
			}
			other := c
			other.body = strings.Replace(c.body, "{", "{ ", 1)
			if a := p.do(r, other, "Idempotency-Key", key); a.status != 409 || a.problem().Code != "idempotency_conflict" {
				t.Errorf("the same key for something else: %d %s", a.status, a.body)
			}
			if n := len(w.audited()[again.header.Get("Request-Id")]); n != 0 {
				t.Errorf("the repeat is in the audit")
			}
			atOnce(w, func() call { return calls[r.ID](p) }, func(c call) answer { return p.do(r, c, "Idempotency-Key", "at once "+r.ID) })
		})
	}
}

// leftOut reports whether again is first without a member that is shown once.
func leftOut(first, again, member string) bool {
	var a, b map[string]any
	if json.Unmarshal([]byte(first), &a) != nil || json.Unmarshal([]byte(again), &b) != nil || a[member] == nil || b["left_out"] == nil {
		return false
	}
	delete(a, member)
	delete(b, "left_out")
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// atOnce sends the same several times at once: it may be done once.
func atOnce(w *world, prepare func() call, do func(call) answer) {
	w.t.Helper()
	c := prepare()
	answers := make([]answer, 4)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = do(c) })
	}
	wg.Wait()
	audit, done := w.audited(), 0
	for _, a := range answers {
		replayed := a.header.Get("Idempotency-Replayed") != ""
		switch {
		case a.status < 300 && !replayed:
			done++
		case a.status < 300, a.problem().Code == "in_progress":
		default:
			w.t.Errorf("one of several at once: %d %s", a.status, a.body)
		}
		if entries := len(audit[a.header.Get("Request-Id")]); entries > 1 || entries == 1 && (replayed || a.status >= 300) {
			w.t.Errorf("%d entries for %d, replayed: %v", entries, a.status, replayed)
		}
	}
	if done != 1 {
		w.t.Errorf("done %d times", done)
	}
}
