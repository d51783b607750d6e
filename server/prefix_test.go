package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/server"
)

const oneItem = `{"steps":[{"action":"greet"}],"items":[{"id":"a"}],"start":true}`

func TestEverythingIsUnderThePrefix(t *testing.T) {
	m := mount(t, server.Options{Prefix: "/bulk", Open: true})
	for _, at := range []string{"/bulk", "/stripped", "/stripped/bulk"} { // a proxy may remove it, or not
		t.Run(at, func(t *testing.T) {
			m.t = t
			resp, text := m.want(201, "POST", at+"/v1/bulk-actions", oneItem)
			var b api.BulkAction
			if err := json.Unmarshal([]byte(text), &b); err != nil {
				t.Fatal(err)
			}
			self := "/bulk/v1/bulk-actions/" + b.ID
			if resp.Header.Get("Location") != self || b.Links.Self != self || b.Links.Events != self+"/events" {
				t.Errorf("it is at %q, with links %+v; want %s", resp.Header.Get("Location"), b.Links, self)
			}
			if _, text := m.want(404, "GET", at+"/v1/bulk-actions/ba_none", ""); !strings.Contains(text, `"type":"/bulk/problems/not_found"`) {
				t.Errorf("problem: %s", text)
			}
			if _, text := m.want(404, "GET", at+"/v1/none", ""); !strings.Contains(text, "see /bulk/docs") {
				t.Errorf("problem: %s", text)
			}
			if _, text := m.want(400, "GET", at+"/v1/bulk-actions?nope=1", ""); !strings.Contains(text, `"type":"/bulk/problems/`) {
				t.Errorf("problem that huma finds: %s", text)
			}
			m.want(200, "GET", at+"/problems/not_found", "")
			if _, text := m.want(200, "GET", at+"/docs", ""); !strings.Contains(text, `href="/bulk/openapi.yaml"`) || strings.Contains(text, `href="/problems`) {
				t.Error("the page of the API has links without the prefix")
			}
			if _, text := m.want(200, "GET", at+"/openapi.json", ""); !strings.Contains(text, `"servers":[{"url":"/bulk"}]`) {
				t.Error("the OpenAPI document does not name the server")
			}
			resp, _ = m.want(201, "POST", at+"/v1/uploads", "", "Tus-Resumable", "1.0.0", "Upload-Length", "3")
			if to := resp.Header.Get("Location"); !strings.HasPrefix(to, m.url+"/bulk/v1/uploads/") {
				t.Errorf("an upload is at %q", to)
			}
			m.pages(at)
		})
	}
}

// pages checks links, redirects and cookies of the pages.
func (m *mounted) pages(at string) {
	m.t.Helper()
	for _, path := range []string{"/", "/ui"} {
		for _, accept := range []string{"text/html,*/*", "*/*"} {
			if resp, _ := m.want(http.StatusSeeOther, "GET", at+path, "", "Accept", accept); resp.Header.Get("Location") != "/bulk/ui/" {
				m.t.Errorf("%s leads to %q", path, resp.Header.Get("Location"))
			}
		}
	}
	_, text := m.want(200, "GET", at+"/ui/", "")
	for _, link := range []string{`href="/bulk/ui/bulk-actions"`, `href="/bulk/ui/assets/style.css"`, `href="/bulk/docs"`, `action="/bulk/ui/theme"`} {
		if !strings.Contains(text, link) {
			m.t.Errorf("the overview lacks %s", link)
		}
	}
	if strings.Contains(text, `="/ui/`) {
		m.t.Error("the overview has a link without the prefix")
	}
	m.want(200, "GET", at+"/ui/assets/style.css", "")
	resp, _ := m.want(http.StatusSeeOther, "POST", at+"/ui/theme", "theme=dark&next=/bulk/ui/bulk-actions", "Content-Type", "application/x-www-form-urlencoded")
	if to := resp.Header.Get("Location"); to != "/bulk/ui/bulk-actions" || len(resp.Cookies()) != 1 || resp.Cookies()[0].Path != "/bulk/ui" {
		m.t.Errorf("the theme is set with cookies %v, and leads to %q", resp.Cookies(), to)
	}
}

func TestTheClientTakesAServerUnderAPrefix(t *testing.T) {
	m := mount(t, server.Options{Prefix: "/bulk", Open: true})
	c := m.client(client.Options{})
	id, err := c.Upload(t.Context(), client.Upload{Name: "users.csv", Size: 9}, strings.NewReader("id\na\nb\nc\n"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Create(t.Context(), api.NewBulkAction{Steps: []api.Step{{Action: "greet"}}, Source: &api.Source{Upload: id}, Start: true})
	if err != nil {
		t.Fatal(err)
	}
	var last api.Progress
	for p, err := range c.Watch(t.Context(), b.ID) {
		if last = p; err != nil {
			t.Fatal(err)
		}
	}
	if last.State != api.Completed || last.Counts.Done != 3 {
		t.Errorf("it ended %s with %+v", last.State, last.Counts)
	}
}

func TestABadPrefixIsRefused(t *testing.T) {
	for _, prefix := range []string{"bulk", "/", "/bulk/", "/a//b", "/a/../b", "/v1", "/ui/weir", "/openapi.yaml", "/a b", "/a%2f", "//evil.example"} {
		_, err := server.New(t.Context(), opened(t), server.Options{Prefix: prefix, Open: true, VaultKey: vaultKey(t)})
		if err == nil || !strings.Contains(err.Error(), "Prefix") {
			t.Errorf("New with the prefix %q = %v, want a fault of Prefix", prefix, err)
		}
	}
}
