package server_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
)

// TestWhatIsRestrictedToATenantIsNotNamedToOthers walks all routes that read, and all pages, with a key of another tenant
// that may do everything a key of a tenant may. Neither names the action of the first, its resource, or its work.
func TestWhatIsRestrictedToATenantIsNotNamedToOthers(t *testing.T) {
	w := start(t, opening{})
	w.must(w.admin, "PUT", "/v1/actions/acme-launch", `{"url":"`+w.sink.URL+`","tenants":["acme"]}`, nil)
	w.must(w.admin, "PUT", "/v1/actions/acme-mail", `{"url":"`+w.sink.URL+`","tenants":["acme"],"resource":"acme-mailer"}`, nil)
	w.must(w.admin, "PUT", "/v1/actions/shared-mail", `{"url":"`+w.sink.URL+`"}`, nil)
	for _, name := range []string{"acme-launch", "acme-mailer", "shared-mail"} {
		w.must(w.admin, "PUT", "/v1/resources/"+name, `{"rate":"1/m"}`, nil)
		w.must(w.admin, "PUT", "/v1/lanes/p01/"+name+"/pin", `{"workers":1,"until":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`","reason":"a test"}`, nil)
	}
	w.must(w.admin, "PUT", "/v1/scaling", `{"timetables":{"acme-mailer":"Fri 20:00 64"},"rate_rules":{"acme-launch":"aimd"}}`, nil)
	acme := w.key("admin", "acme")
	var b api.BulkAction
	w.must(acme, "POST", "/v1/bulk-actions", `{"name":"acme-secret","start":true,"steps":[{"action":"acme-launch"},{"action":"acme-mail"},{"action":"shared-mail"}],
		"items":[{"id":"acme-1"},{"id":"acme-2"},{"id":"acme-3"}]}`, &b)
	listed := func(key string) string {
		return w.ask(key, "GET", "/v1/lanes", "").body + w.ask(key, "GET", "/v1/resources", "").body + w.ask(key, "GET", "/v1/scale", "").body
	}
	w.until("the lane of acme", func() bool {
		return strings.Contains(listed(w.admin), `"ready":3`) || strings.Contains(listed(w.admin), `"ready":2`)
	})
	for _, key := range []string{w.admin, acme} {
		if all := listed(key) + w.ask(key, "GET", "/v1/scaling", "").body; !strings.Contains(all, "acme-launch") || !strings.Contains(all, "acme-mailer") {
			t.Errorf("those who may see acme's resources do not: %s", all)
		}
	}
	beta := w.key("admin", "beta")
	if all := listed(beta); !strings.Contains(all, "shared-mail") {
		t.Errorf("beta does not see the resource of an action that it may use: %s", all)
	}
	work := func(key string) (lanes int, ready int64) {
		var parts api.Page[api.Partition]
		w.must(key, "GET", "/v1/partitions", "", &parts)
		for _, p := range parts.Data {
			lanes, ready = lanes+p.Lanes, ready+p.Ready
		}
		return lanes, ready
	}
	lanes, ready := work(w.admin)
	if less, fewer := work(beta); ready-fewer < 2 || lanes <= less {
		t.Errorf("partitions have %d lanes and %d ready items, and %d and %d for beta, want those of acme not to be counted", lanes, ready, less, fewer)
	}
	clean := func(where, body string) {
		t.Helper()
		if strings.Contains(strings.ToLower(body), "acme") {
			at := strings.Index(strings.ToLower(body), "acme")
			t.Errorf("%s names what is acme's: …%s…", where, body[max(0, at-80):min(len(body), at+80)])
		}
	}
	asked := 0
	for _, r := range w.routes() {
		if r.Method != http.MethodGet || r.Scope == "" || strings.Contains(r.Path, "{") {
			continue
		}
		path := r.Path
		if path == "/v1/schedule-times" {
			path += "?cron=0+9+*+*+1"
		}
		a := w.ask(beta, "GET", path, "")
		clean("GET "+path, a.body)
		if a.status == http.StatusOK {
			asked++
		}
	}
	if asked < 15 {
		t.Errorf("only %d lists were answered", asked)
	}
	for theirs, unknown := range map[string]string{
		"/v1/resources/acme-launch": "/v1/resources/unknown-one", "/v1/lanes/p01/acme-mailer/decisions": "/v1/lanes/p01/unknown-one/decisions",
		"/v1/actions/acme-launch": "/v1/actions/unknown-one",
	} {
		a, u := w.ask(beta, "GET", theirs, ""), w.ask(beta, "GET", unknown, "")
		if got, want := sameForAll(a.body, theirs), sameForAll(u.body, unknown); a.status != u.status || got != want {
			t.Errorf("%s: %d %s\nunknown: %d %s", theirs, a.status, got, u.status, want)
		}
	}
	clean("an effect", w.ask(beta, "POST", "/v1/effects", `{"resources":{"shared-mail":{"rate":"9/s"}}}`).body)
	hint := w.ask(beta, "POST", "/v1/effects", `{"resources":{"acme-launch":{"rate":"9/s"}}}`)
	if other := w.ask(beta, "POST", "/v1/effects", `{"resources":{"unknown-one":{"rate":"9/s"}}}`); hint.status != other.status {
		t.Errorf("the effect on acme's resource: %d %s; on an unknown one: %d", hint.status, hint.body, other.status)
	}
	clean("a hint", w.ask(beta, "POST", "/v1/bulk-actions", `{"steps":[{"action":"cme-launch"}]}`).body)
	w.everyPage(beta, clean)
}

var linkOfPage = regexp.MustCompile(`href="(/ui/[^"#]*)`)

// pages signs in, and returns what reads a page.
func (w *world) pages(key string) func(at string) string {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	read := func(resp *http.Response, err error) string {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
		defer resp.Body.Close()
		page, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 500 {
			w.t.Fatalf("%s: %s %v", resp.Request.URL, resp.Status, err)
		}
		return string(page)
	}
	read(browser.PostForm(w.url+"/ui/sign-in", url.Values{"key": {key}}))
	return func(at string) string { return read(browser.Get(w.url + at)) }
}

// everyPage signs in and follows every link.
func (w *world) everyPage(key string, look func(where, page string)) {
	w.t.Helper()
	read := w.pages(key)
	queue := []string{"/ui/", "/ui/resources?of=acme-launch", "/ui/lanes?of=acme-launch", "/ui/simulator"}
	seen := map[string]bool{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if seen[at] || len(seen) > 150 || strings.HasPrefix(at, "/ui/assets/") {
			continue
		}
		seen[at] = true
		page := read(at)
		look(at, strings.ReplaceAll(page, "acme-launch", map[bool]string{true: "", false: "acme-launch"}[strings.Contains(at, "acme-launch")]))
		for _, m := range linkOfPage.FindAllStringSubmatch(page, -1) {
			queue = append(queue, strings.ReplaceAll(m[1], "&amp;", "&"))
		}
	}
	if !seen["/ui/resources"] || !seen["/ui/lanes"] || len(seen) < 12 {
		w.t.Errorf("only %d pages were seen", len(seen))
	}
}
