package server_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
)

func auditOf(w *world, key, query string) (ids []string, page api.Page[api.AuditEntry]) {
	w.t.Helper()
	w.must(key, "GET", "/v1/audit?"+query, "", &page)
	for _, e := range page.Data {
		ids = append(ids, e.Action)
	}
	return ids, page
}

func TestTheAuditCanBeFiltered(t *testing.T) {
	w := start(t, opening{})
	acme := w.key("admin", "acme")
	w.must(acme, "POST", "/v1/webhooks", `{"url":"`+w.sink.URL+`"}`, nil)
	at := time.Now().UTC().Truncate(time.Millisecond).Add(2 * time.Millisecond) // entries are told apart by these
	w.until("the next moment", func() bool { return time.Now().After(at.Add(time.Millisecond)) })
	between := at.Format(time.RFC3339Nano)
	var b api.BulkAction
	w.must(acme, "POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}]}`, &b)
	w.must(acme, "POST", "/v1/bulk-actions/"+b.ID+"/cancel", `{"re\u0061son":"not needed"}`, nil) // as JSON may write it
	var who api.Whoami
	w.must(acme, "GET", "/v1/whoami", "", &who)
	for _, tt := range []struct{ name, query, want string }{
		{"all, the newest first", "", "[bulk_action.cancel bulk_action.create webhook.create key.create]"},
		{"by action", "action=bulk_action.cancel", "[bulk_action.cancel]"},
		{"by kind of action", "action=bulk_action.", "[bulk_action.cancel bulk_action.create]"},
		{"by target", "target=" + b.ID, "[bulk_action.cancel bulk_action.create]"},
		{"by tenant", "tenant=beta", "[]"},
		{"by actor", "actor=" + who.Key, "[bulk_action.cancel bulk_action.create webhook.create]"},
		{"from a time", "from=" + url.QueryEscape(between), "[bulk_action.cancel bulk_action.create]"},
		{"to a time", "to=" + url.QueryEscape(between), "[webhook.create key.create]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, _ := auditOf(w.in(t), w.admin, tt.query); fmt.Sprint(got) != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	_, page := auditOf(w, w.admin, "action=bulk_action.cancel")
	if e := page.Data[0]; e.Reason != "not needed" || e.Target != b.ID || e.Tenant != "acme" || e.Actor != "admin of acme" {
		t.Errorf("entry %+v", e)
	}
	if a := w.ask(w.admin, "GET", "/v1/audit?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", ""); a.status != 400 || a.problem().Code != "bad_filter" {
		t.Errorf("from after to: %d %s", a.status, a.body)
	}
}

func TestTheAuditIsReadPageByPage(t *testing.T) {
	w := start(t, opening{})
	for range 5 {
		w.key("read")
	}
	seen := map[string]bool{}
	cursor := ""
	for range 3 {
		_, page := auditOf(w, w.admin, "limit=2&cursor="+cursor)
		for _, e := range page.Data {
			seen[e.ID] = true
		}
		cursor = page.NextCursor
	}
	if len(seen) != 5 || cursor != "" {
		t.Errorf("%d entries, then cursor %q", len(seen), cursor)
	}
	_, page := auditOf(w, w.admin, "limit=2")
	if a := w.ask(w.admin, "GET", "/v1/audit?limit=2&action=x&cursor="+page.NextCursor, ""); a.problem().Code != "bad_cursor" {
		t.Errorf("a cursor of another list: %d %s", a.status, a.body)
	}
}

// TestTheAuditCanBeExported: all of it, in a form that a spreadsheet takes for text.
func TestTheAuditCanBeExported(t *testing.T) {
	w := start(t, opening{})
	w.must(w.admin, "POST", "/v1/keys", `{"name":"=cmd|' /C calc'!A0","scopes":["admin"]}`, nil)
	var k api.Key
	w.must(w.admin, "POST", "/v1/keys", `{"name":"=1+1","scopes":["admin"]}`, &k)
	w.must(k.Key, "POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"name":"a"}`, nil)
	a := w.must(w.admin, "GET", "/v1/audit?format=csv", "", nil)
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v: %s", len(rows), err, a.body)
	}
	if !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") || !strings.HasPrefix(a.header.Get("Content-Type"), "text/csv") {
		t.Errorf("headers %v", a.header)
	}
	if rows[1][1] != "'=1+1" {
		t.Errorf("actor = %q, which a spreadsheet would evaluate", rows[1][1])
	}
	a = w.must(w.admin, "GET", "/v1/audit?format=ndjson&action=key.", "", nil)
	lines := strings.Split(strings.TrimSpace(a.body), "\n")
	var e api.AuditEntry
	if err := json.Unmarshal([]byte(lines[0]), &e); err != nil || len(lines) != 2 || e.Action != "key.create" || e.Target != k.ID {
		t.Errorf("%v, %d lines, %+v", err, len(lines), e)
	}
}
