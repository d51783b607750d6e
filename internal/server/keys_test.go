package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
)

func TestAKeyIsMadeUsedListedAndRevoked(t *testing.T) {
	w := start(t, opening{})
	var k, same api.Key
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	a := w.must(w.admin, "POST", "/v1/keys", fmt.Sprintf(`{"name":"ci","scopes":["read","submit"],"tenants":["acme"],"expires_at":"%s"}`, until.Format(time.RFC3339)), &k)
	if a.status != 201 || a.header.Get("Location") != "/v1/keys/"+k.ID || !strings.HasPrefix(k.Key, "wk_") || k.CreatedBy == "" || !k.ExpiresAt.Equal(until) {
		t.Fatalf("%d %+v", a.status, k)
	}
	var who api.Whoami
	w.must(k.Key, "GET", "/v1/whoami", "", &who)
	if who.Key != k.ID || who.Name != "ci" || fmt.Sprint(who.Scopes, who.Tenants) != "[read submit] [acme]" {
		t.Errorf("whoami = %+v", who)
	}
	w.must(w.admin, "GET", "/v1/keys/"+k.ID, "", &same)
	if same.Key != "" || same.Name != "ci" || same.LastUsed.IsZero() {
		t.Errorf("read again: %+v", same)
	}
	w.must(w.admin, "DELETE", "/v1/keys/"+k.ID, "", &same)
	if same.RevokedAt.IsZero() {
		t.Errorf("revoked: %+v", same)
	}
	if a := w.ask(k.Key, "GET", "/v1/whoami", ""); a.status != 401 || a.problem().Code != "bad_credentials" {
		t.Errorf("after it was revoked: %d %s", a.status, a.body)
	}
	w.must(w.admin, "DELETE", "/v1/keys/"+k.ID, "", nil) // once more changes nothing
}

func TestKeysThatCannotBeMade(t *testing.T) {
	w := start(t, opening{})
	bound := w.key("admin", "acme")
	for _, tt := range []struct{ name, key, body, field, code string }{
		{"without a name", w.admin, `{"name":"","scopes":["read"]}`, "name", "bad_text"},
		{"a scope that is none", w.admin, `{"name":"x","scopes":["fly"]}`, "scopes[0]", "bad_value"},
		{"no scope", w.admin, `{"name":"x","scopes":[]}`, "scopes", "out_of_range"},
		{"expired", w.admin, `{"name":"x","scopes":["read"],"expires_at":"2020-01-01T00:00:00Z"}`, "expires_at", "bad_time"},
		{"for others than the maker sees", bound, `{"name":"x","scopes":["read"],"tenants":["beta"]}`, "tenants[0]", "missing_scope"},
		{"a key in the body", w.admin, `{"name":"x","scopes":["read"],"hash":"x"}`, "hash", "unknown_field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := w.in(t).ask(tt.key, "POST", "/v1/keys", tt.body)
			p := a.problem()
			if a.status < 400 || len(p.Errors) == 0 || p.Errors[0].Field != tt.field || p.Errors[0].Code != tt.code {
				t.Errorf("%d %s, want %s of %s", a.status, a.body, tt.code, tt.field)
			}
		})
	}
	var page api.Page[api.Key]
	w.must(w.admin, "GET", "/v1/keys", "", &page)
	if len(page.Data) != 1 {
		t.Errorf("%d keys, want only the one that was made", len(page.Data))
	}
}

func TestABoundKeyMakesBoundKeys(t *testing.T) {
	w := start(t, opening{})
	var k api.Key
	w.must(w.key("admin", "acme", "beta"), "POST", "/v1/keys", `{"name":"x","scopes":["admin"]}`, &k)
	if fmt.Sprint(k.Tenants) != "[acme beta]" {
		t.Errorf("tenants %v, want those of its maker", k.Tenants)
	}
}

// TestListsGoOnWhereTheyWere: pages show each thing once, in order, and no more of
// them than the caller sees, whatever lies between.
func TestListsGoOnWhereTheyWere(t *testing.T) {
	w := start(t, opening{})
	var mine []string
	bound := w.key("admin", "acme")
	for i := range 7 {
		var k api.Key
		w.must(bound, "POST", "/v1/keys", fmt.Sprintf(`{"name":"k%d","scopes":["read"]}`, i), &k)
		mine = append(mine, k.ID)
		w.key("read", "beta")
	}
	var got []string
	for cursor, more := "", true; more; {
		var page api.Page[api.Key]
		w.must(bound, "GET", "/v1/keys?limit=3&cursor="+cursor, "", &page)
		for _, k := range page.Data {
			if k.Name != "admin of acme" {
				got = append(got, k.ID)
			}
		}
		if cursor, more = page.NextCursor, page.HasMore; more && len(page.Data) != 3 {
			t.Errorf("a page of %d that is not the last", len(page.Data))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(mine) {
		t.Errorf("listed %v\nwant   %v", got, mine)
	}
	for _, bad := range []string{"zzz", "%21", "AAAA", "a%20b"} {
		if a := w.ask(bound, "GET", "/v1/keys?cursor="+bad, ""); a.status != 400 || a.problem().Code != "bad_cursor" {
			t.Errorf("cursor %s: %d %s", bad, a.status, a.body)
		}
	}
	for _, limit := range []string{"0", "-1", "1000000000", "x"} {
		if a := w.ask(bound, "GET", "/v1/keys?limit="+limit, ""); a.status < 400 || a.status >= 500 {
			t.Errorf("limit %s: %d %s", limit, a.status, a.body)
		}
	}
}
