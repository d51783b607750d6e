package server_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/access"
)

// shared are collections whose things belong to no tenant: whoever may ask gets the
// same answer, or none because it concerns everybody.
var shared = map[string]string{
	"/v1/resources": "limits are set for everybody",
	"/v1/lanes":     "workers are everybody's",
}

// nonsense is a body that no route accepts, and that changes nothing.
const nonsense = `{"no such field":1}`

// TestEveryRouteAsksForItsScope goes through the server's own table of routes, so
// a route that is added is looked at as well.
func TestEveryRouteAsksForItsScope(t *testing.T) {
	w := twoTenants(t, opening{})
	keys := map[string]string{}
	for _, scope := range access.Scopes() {
		keys[string(scope)] = w.key(string(scope))
	}
	for _, r := range w.routes() {
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			w := w.in(t)
			needed := r.Scope != "" || r.Known
			if a := w.bare("", r); (a.status == 401) != needed || needed && r.Method != http.MethodHead && a.problem().Code != "no_credentials" {
				t.Errorf("without a key: %d %s, needs one: %v", a.status, a.body, needed)
			}
			if !needed {
				return
			}
			// Addresses with many wrong keys are slowed down, and this is one.
			if a := w.bare("wk_nonsense", r); a.status != 401 && a.status != 429 {
				t.Errorf("with a wrong key: %d %s", a.status, a.body)
			}
			for scope, key := range keys {
				a := w.bare(key, r)
				refused := a.status == 401 || a.status == 403
				if may := r.Known || scope == r.Scope || scope == "admin"; refused == may {
					t.Errorf("with the scope %s: %d %s; it needs %s", scope, a.status, a.body, r.Scope)
				}
				if refused && r.Method != http.MethodHead && !strings.Contains(a.problem().Fix, r.Scope) {
					t.Errorf("with the scope %s: the answer does not name %s: %s", scope, r.Scope, a.body)
				}
				if a.status >= 500 {
					t.Errorf("with the scope %s: %d %s", scope, a.status, a.body)
				}
			}
		})
	}
}

// in is the world in a subtest.
func (w *world) in(t *testing.T) *world {
	inner := &world{t: t, node: w.node, url: w.url, admin: w.admin, sink: w.sink, log: w.log, tape: w.tape, free: w.free}
	if w.acme != nil {
		inner.acme, inner.beta = &place{inner, w.acme.tenant, w.acme.keys, w.acme.ids}, &place{inner, w.beta.tenant, w.beta.keys, w.beta.ids}
	}
	return inner
}

// bare asks a route for what is not there, with what it cannot accept.
func (w *world) bare(key string, r server.Route) answer {
	w.t.Helper()
	body := ""
	if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		body = nonsense
	}
	return w.ask(key, r.Method, w.acme.nowhere(r), body)
}

// TestOperatorRoutesAreNotPublic: where operators have a listener of their own, the other one knows none of their routes.
func TestOperatorRoutesAreNotPublic(t *testing.T) {
	w := twoTenants(t, opening{})
	web := httptest.NewServer(w.node.Server().Public())
	t.Cleanup(web.Close)
	w.url = web.URL
	for _, r := range w.routes() {
		for _, key := range []string{"", w.admin} {
			a := w.bare(key, r)
			hidden := a.problem().Code == "no_such_route" || a.problem().Code == "method_not_allowed" // the path may have others
			if want := r.Scope == string(access.Admin); hidden != want {
				t.Errorf("%s %s with key %v: %d %s, hidden: want %v", r.Method, r.Path, key != "", a.status, a.body, want)
			}
		}
	}
}

// TestWhatBelongsToOthersIsNotThere: another tenant's id is answered exactly as one
// that nothing has, on every route, and nothing happens to it.
func TestWhatBelongsToOthersIsNotThere(t *testing.T) {
	w := twoTenants(t, opening{})
	before := w.acme.everything(t)
	for _, r := range w.routes() {
		if collection(r) == "" || shared[collection(r)] != "" {
			continue
		}
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			w := w.in(t)
			theirs, ok := w.acme.at(r)
			if !ok {
				t.Fatalf("the fixture has nothing in %s: add one to furnish, or say in shared why it belongs to nobody", collection(r))
			}
			body := w.bodyFor(r)
			foreign := w.beta.ask(r.Method, theirs, body, streamHeaders(r)...)
			if named(r) { // the names are everybody's: an unknown one could be taken
				if foreign.status < 400 {
					t.Errorf("%s: %d %s", theirs, foreign.status, foreign.body)
				}
				return
			}
			unknown := w.beta.ask(r.Method, w.acme.nowhere(r), body, streamHeaders(r)...)
			if foreign.status != unknown.status || sameForAll(foreign.body, theirs) != sameForAll(unknown.body, w.acme.nowhere(r)) {
				t.Errorf("another's: %d %s\nunknown:   %d %s", foreign.status, foreign.body, unknown.status, unknown.body)
			}
			if foreign.status != http.StatusNotFound && foreign.status != http.StatusForbidden { // what concerns everybody is forbidden, whatever the name
				t.Errorf("another's: %d, want 404: %s", foreign.status, foreign.body)
			}
		})
	}
	if after := w.acme.everything(t); after != before {
		t.Errorf("what belongs to acme has changed:\nbefore %s\nafter  %s", before, after)
	}
}

// named reports whether a route makes something under a name that the caller chooses.
func named(r server.Route) bool {
	return r.Method == http.MethodPut && strings.HasSuffix(r.Path, "/{name}")
}

func streamHeaders(r server.Route) []string {
	if strings.HasPrefix(r.Path, "/v1/uploads") {
		return []string{"Tus-Resumable", "1.0.0", "Upload-Offset", "0", "Content-Type", "application/offset+octet-stream"}
	}
	return nil
}

var changing = regexp.MustCompile(`"(request_id|last_used_at|use|at|rate|eta|elapsed|allowed)":("[^"]*"|[0-9.e-]+),?`)

// sameForAll is an answer without what differs between any two.
func sameForAll(body, path string) string {
	for _, part := range strings.Split(path, "/")[1:] {
		if len(part) > 3 {
			body = strings.ReplaceAll(body, part, "…")
		}
	}
	return changing.ReplaceAllString(body, "")
}

// everything is what a tenant can read of its things.
func (p *place) everything(t *testing.T) string {
	var all strings.Builder
	for _, r := range p.w.routes() {
		path, ok := p.at(r)
		if r.Method != http.MethodGet || !ok || strings.HasSuffix(r.Path, "/events") {
			continue
		}
		a := p.ask(r.Method, path, "")
		if ofDraft := strings.HasSuffix(r.Path, "/draft") || strings.HasSuffix(r.Path, "/check") ||
			strings.HasSuffix(r.Path, "/bad-rows") || strings.HasSuffix(r.Path, "/duplicates"); ofDraft && a.status == http.StatusConflict {
			continue // it is not a draft any more, or has no upload
		}
		if a.status != http.StatusOK {
			t.Errorf("%s of its own: %d %s", path, a.status, a.body)
		}
		all.WriteString(path + " " + sameForAll(a.body, "") + "\n")
	}
	return all.String()
}

// TestListsShowNothingOfOthers: no route without an id in its path shows anything of another tenant.
func TestListsShowNothingOfOthers(t *testing.T) {
	w := twoTenants(t, opening{})
	shown := map[string]bool{}
	for _, r := range w.routes() {
		if collection(r) != "" || r.Change || r.Scope == "" {
			continue
		}
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			w := w.in(t)
			body, path := w.bodyFor(r), r.Path
			own := w.beta.ask(r.Method, w.beta.listed(path), body)
			if own.status >= 500 || own.status == 400 || own.status == 422 {
				t.Errorf("%d %s", own.status, own.body)
			}
			for _, mark := range w.acme.marks() {
				if strings.Contains(own.body, mark) {
					t.Errorf("beta is shown %s: %s", mark, own.body)
				}
			}
			for collection, id := range w.beta.ids {
				shown[collection] = shown[collection] || strings.Contains(own.body, id)
			}
			if a := w.beta.ask(r.Method, w.acme.listed(path), body); w.beta.listed(path) != w.acme.listed(path) && a.status != http.StatusNotFound {
				t.Errorf("%s: %d %s", w.acme.listed(path), a.status, a.body)
			}
		})
	}
	for _, c := range []string{"/v1/bulk-actions", "/v1/keys", "/v1/webhooks", "/v1/schedules", "/v1/deliveries", "/v1/connections", "/v1/actions", "/v1/tenants", "/v1/templates"} {
		if w.beta.ids[c] != "" && !shown[c] {
			t.Errorf("no list shows beta its own of %s: the test proves nothing", c)
		}
	}
}

// listed is the path of a list with the parameters that it cannot do without.
func (p *place) listed(path string) string {
	if path == "/v1/deliveries" {
		return path + "?webhook=" + p.ids["/v1/webhooks"]
	}
	if path == "/v1/schedule-times" {
		return path + "?cron=0+9+*+*+1"
	}
	return path
}

// TestEveryPostThatChangesSomethingCanBeRepeated: what is not kept for repeats has to have its own way of knowing them.
func TestEveryPostThatChangesSomethingCanBeRepeated(t *testing.T) {
	w := start(t, opening{})
	for _, r := range w.routes() {
		if r.Method == http.MethodPost && r.Change && !r.Keyed && !r.Stream {
			t.Errorf("POST %s (%s) is neither keyed nor a stream", r.Path, r.ID)
		}
		if r.Change && r.Scope == "" {
			t.Errorf("%s %s (%s) changes something and asks for no scope", r.Method, r.Path, r.ID)
		}
		if r.Method == http.MethodGet && r.Change {
			t.Errorf("GET %s (%s) changes something", r.Path, r.ID)
		}
	}
	if ids := w.routes(); len(ids) < 40 || !slices.ContainsFunc(ids, func(r server.Route) bool { return r.ID == "key.create" }) {
		t.Errorf("%d routes: the table is not the server's", len(ids))
	}
}
