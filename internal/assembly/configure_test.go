package assembly_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/service/callback"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store/memstore"
)

// lines keeps a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// restarting is a node that is started again and again on one store, each time with another file.
type restarting struct {
	*nodetest.Node
	t     *testing.T
	store *memstore.Store
	vault *vault.Vault
	log   *lines
}

func newRestarting(t *testing.T) *restarting {
	t.Helper()
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = s.Close() })
	return &restarting{t: t, store: s, vault: v, log: &lines{}}
}

// restart stops the node and starts it with a file; nil: without one.
func (r *restarting) restart(f *assembly.File, actions []api.Action, connections []api.Connection) {
	r.t.Helper()
	if r.Node != nil {
		r.Stop()
	}
	r.Node = nodetest.Start(r.t, nodetest.Options{
		Store: r.store, Vault: r.vault, File: f, Actions: actions, Connections: connections, Steps: []weir.Step{echo("award")},
		Logger: slog.New(slog.NewTextHandler(r.log, nil)),
	})
}

func get[T any](r *restarting, path string) (v T) {
	r.t.Helper()
	r.Call("GET", path, "", 200, &v)
	return v
}

func fileOf(weight float64, rate weir.Rate, url string, events ...string) *assembly.File {
	return &assembly.File{
		Tenants:   map[string]weir.TenantLimits{"acme": {Weight: weight}, "other": {Weight: weight}},
		Resources: []weir.Resource{{Name: "award", Rate: rate}, {Name: "other", Rate: rate}},
		Webhooks:  []callback.FileEndpoint{{Name: "ops", URL: url, Types: events}, {Name: "other", URL: url, Types: events}},
	}
}

func fileActions(url string) ([]api.Action, []api.Connection) {
	return []api.Action{{Name: "mail", URL: url}, {Name: "other", URL: url}},
		[]api.Connection{{Name: "crm", Kind: "http", URL: url}, {Name: "other", Kind: "http", URL: url}}
}

func TestARestartKeepsWhatWasChangedAtRunTimeAndFollowsTheFileElsewhere(t *testing.T) {
	r := newRestarting(t)
	a, c := fileActions("http://127.0.0.1:1/old")
	r.restart(fileOf(2, 300, "http://127.0.0.1:1/old", callback.TypeFailed), a, c)
	for _, path := range []string{"/v1/tenants/acme", "/v1/resources/award", "/v1/webhooks/whk_file_ops", "/v1/actions/mail", "/v1/connections/crm"} {
		if p := get[struct{ api.Provenance }](r, path); p.Origin != "file" || p.ChangedAt.IsZero() {
			t.Errorf("%s: %+v, want origin file and a time", path, p)
		}
		r.Call("DELETE", path, "", 409, nil) // the next start would bring it back
	}
	change(r)
	a, c = fileActions("http://127.0.0.1:1/new")
	r.restart(fileOf(3, 700, "http://127.0.0.1:1/new", callback.TypeStopped), a, c)
	changesAreKept(r)
	othersFollow(r)
	for _, kind := range []string{"tenant", "resource", "webhook", "action", "connection"} {
		if want := `msg="a change made at run time overrides the configuration file" kind=` + kind; strings.Count(r.log.String(), want) != 1 {
			t.Errorf("the log has not exactly one line %q:\n%s", want, r.log)
		}
	}
	reset(r)
}

// change changes one of each kind, as an operator would in an incident.
func change(r *restarting) {
	r.t.Helper()
	r.Call("PUT", "/v1/tenants/acme", `{"weight":5,"paused":true}`, 200, nil)
	r.Call("PUT", "/v1/resources/award", `{"rate":"50/s"}`, 200, nil)
	r.Call("PUT", "/v1/webhooks/whk_file_ops", `{"url":"http://127.0.0.1:1/mine","disabled":true}`, 200, nil)
	r.Call("PUT", "/v1/actions/mail", `{"url":"http://127.0.0.1:1/mine"}`, 200, nil)
	r.Call("PUT", "/v1/connections/crm", `{"kind":"http","url":"http://127.0.0.1:1/mine"}`, 200, nil)
}

func changesAreKept(r *restarting) {
	r.t.Helper()
	isAPI := func(what string, p api.Provenance) {
		r.t.Helper()
		if p.Origin != "api" || p.ChangedBy != "local" || p.ChangedAt.IsZero() {
			r.t.Errorf("%s: %+v, want origin api, a time, and who", what, p)
		}
	}
	t := get[api.Tenant](r, "/v1/tenants/acme")
	isAPI("tenant", t.Provenance)
	if t.Weight != 5 || !t.Paused || t.File == nil || t.File.Weight != 3 || t.File.Paused {
		r.t.Errorf("tenant %+v, file %+v: want what was set, and what the new file says", t, t.File)
	}
	res := get[api.ResourceStatus](r, "/v1/resources/award")
	isAPI("resource", res.Provenance)
	if res.Rate != 50 || res.File == nil || *res.File.Rate != 700 {
		r.t.Errorf("resource %+v, file %+v", res, res.File)
	}
	w := get[api.Webhook](r, "/v1/webhooks/whk_file_ops")
	isAPI("webhook", w.Provenance)
	if !w.Disabled || !strings.HasSuffix(w.URL, "/mine") || w.File == nil || !strings.HasSuffix(w.File.URL, "/new") {
		r.t.Errorf("webhook %+v, file %+v", w, w.File)
	}
	a := get[api.Action](r, "/v1/actions/mail")
	isAPI("action", a.Provenance)
	if !strings.HasSuffix(a.URL, "/mine") || a.File == nil || !strings.HasSuffix(a.File.URL, "/new") {
		r.t.Errorf("action %+v, file %+v", a, a.File)
	}
	c := get[api.Connection](r, "/v1/connections/crm")
	isAPI("connection", c.Provenance)
	if !strings.HasSuffix(c.URL, "/mine") || c.File == nil || !strings.HasSuffix(c.File.URL, "/new") {
		r.t.Errorf("connection %+v, file %+v", c, c.File)
	}
}

// othersFollow wants what was never changed at run time to be as the new file says.
func othersFollow(r *restarting) {
	r.t.Helper()
	if t := get[api.Tenant](r, "/v1/tenants/other"); t.Weight != 3 || t.Origin != "file" {
		r.t.Errorf("tenant %+v, want weight 3 of the file", t)
	}
	if s := get[api.ResourceStatus](r, "/v1/resources/other"); s.Rate != 700 || s.Origin != "file" {
		r.t.Errorf("resource %+v, want 700/s of the file", s)
	}
	w := get[api.Webhook](r, "/v1/webhooks/whk_file_other")
	if !strings.HasSuffix(w.URL, "/new") || !slices.Equal(w.Events, []string{callback.TypeStopped}) || w.Origin != "file" {
		r.t.Errorf("webhook %+v, want that of the new file", w)
	}
	if a := get[api.Action](r, "/v1/actions/other"); !strings.HasSuffix(a.URL, "/new") || a.Origin != "file" {
		r.t.Errorf("action %+v, want that of the new file", a)
	}
}

// reset goes back to the file.
func reset(r *restarting) {
	r.t.Helper()
	for _, path := range []string{"/v1/tenants/acme", "/v1/resources/award", "/v1/webhooks/whk_file_ops", "/v1/actions/mail", "/v1/connections/crm"} {
		r.Call("DELETE", path, "", 204, nil)
		if p := get[struct{ api.Provenance }](r, path); p.Origin != "file" {
			r.t.Errorf("%s is %+v after a reset, want origin file", path, p)
		}
	}
	if t := get[api.Tenant](r, "/v1/tenants/acme"); t.Weight != 3 || t.Paused {
		r.t.Errorf("tenant %+v after a reset, want weight 3", t)
	}
	if w := get[api.Webhook](r, "/v1/webhooks/whk_file_ops"); w.Disabled || !strings.HasSuffix(w.URL, "/new") {
		r.t.Errorf("webhook %+v after a reset", w)
	}
}

func TestEntriesThatTheFileNoLongerHasAreRemovedUnlessChanged(t *testing.T) {
	r := newRestarting(t)
	r.restart(fileOf(2, 300, "http://127.0.0.1:1/old"), nil, nil)
	r.Call("PUT", "/v1/tenants/acme", `{"weight":5}`, 200, nil)
	r.Call("PUT", "/v1/webhooks/whk_file_ops", `{"url":"http://127.0.0.1:1/mine"}`, 200, nil)
	r.restart(nil, nil, nil) // a node without a file says nothing about these
	if x := get[api.Tenant](r, "/v1/tenants/other"); x.Weight != 2 || x.Origin != "file" {
		t.Errorf("after a start without a file: %+v", x)
	}
	r.restart(&assembly.File{}, nil, nil)
	if x := get[api.Tenant](r, "/v1/tenants/other"); x.Weight != 1 || x.Origin != "default" {
		t.Errorf("tenant that the file no longer has: %+v", x)
	}
	if x := get[api.Tenant](r, "/v1/tenants/acme"); x.Weight != 5 || x.Origin != "api" || x.File != nil {
		t.Errorf("changed tenant that the file no longer has: %+v", x)
	}
	r.Call("GET", "/v1/webhooks/whk_file_other", "", 404, nil)
	if w := get[api.Webhook](r, "/v1/webhooks/whk_file_ops"); w.Origin != "api" || !strings.HasSuffix(w.URL, "/mine") {
		t.Errorf("changed webhook that the file no longer has: %+v", w)
	}
	r.Call("DELETE", "/v1/webhooks/whk_file_ops", "", 204, nil)
	r.Call("GET", "/v1/webhooks/whk_file_ops", "", 404, nil)
}
