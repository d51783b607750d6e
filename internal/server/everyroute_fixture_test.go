package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/access"
)

// twoTenants is a world with two tenants that have one of everything.
func twoTenants(t *testing.T, o opening) *world {
	t.Helper()
	w := start(t, o)
	w.acme, w.beta = w.furnish("acme"), w.furnish("beta")
	return w
}

// key makes a key and returns its text.
func (w *world) key(scope string, tenants ...string) string {
	w.t.Helper()
	list, _ := json.Marshal(tenants)
	if tenants == nil {
		list = []byte("[]")
	}
	var k api.Key
	w.must(w.admin, "POST", "/v1/keys", fmt.Sprintf(`{"name":"%s of %s","scopes":["%s"],"tenants":%s}`, scope, strings.Join(tenants, "+"), scope, list), &k)
	return k.Key
}

// furnish makes a tenant's keys and one of everything.
func (w *world) furnish(tenant string) *place {
	w.t.Helper()
	p := &place{w: w, tenant: tenant, keys: map[string]string{}, ids: map[string]string{}}
	for _, scope := range access.Scopes() {
		p.keys[string(scope)] = w.key(string(scope), tenant)
	}
	p.ids["/v1/webhooks"] = p.make("/v1/webhooks", fmt.Sprintf(`{"url":"%s/%s"}`, w.sink.URL, tenant))
	p.ids["/v1/schedules"] = p.make("/v1/schedules", p.scheduleBody("yearly"))
	p.ids["/v1/keys"] = p.make("/v1/keys", `{"name":"spare","scopes":["read"]}`)
	p.ids["/v1/bulk-actions"] = p.completed()
	w.until("a delivery", func() bool {
		var page api.Page[api.Delivery]
		p.must("GET", "/v1/deliveries?webhook="+p.ids["/v1/webhooks"], "", &page)
		for _, d := range page.Data {
			p.ids["/v1/deliveries"] = d.ID
		}
		return len(page.Data) > 0 && page.Data[0].State == "delivered"
	})
	p.furnishMore()
	return p
}

// furnishMore makes what lies in names that tenants share, and what is found by looking.
func (p *place) furnishMore() {
	p.w.t.Helper()
	for path, body := range map[string]string{
		"/v1/connections": p.connectionBody(), "/v1/actions": p.actionBody(), "/v1/tenants": `{"weight":2}`,
		"/v1/templates": p.templateBody(),
	} {
		if !p.w.has(path + "/{name}") {
			continue
		}
		p.ids[path] = p.tenant + "-thing"
		if path == "/v1/tenants" {
			p.ids[path] = p.tenant
		}
		p.w.must(p.w.admin, "PUT", path+"/"+p.ids[path], body, nil)
	}
	var items api.Page[api.ItemResult]
	p.must("GET", "/v1/bulk-actions/"+p.ids["/v1/bulk-actions"]+"/items", "", &items)
	p.ids["/v1/items"] = items.Data[0].Item
	upload := p.upload()
	p.ids["/v1/uploads"] = upload[strings.LastIndexByte(upload, '/')+1:]
}

// has reports whether there is a route with a path.
func (w *world) has(path string) bool {
	return slices.ContainsFunc(w.routes(), func(r server.Route) bool { return r.Path == path })
}

func (p *place) ask(method, path, body string, headers ...string) answer {
	p.w.t.Helper()
	return p.w.ask(p.keys["admin"], method, path, body, headers...)
}

func (p *place) must(method, path, body string, out any, headers ...string) answer {
	p.w.t.Helper()
	return p.w.must(p.keys["admin"], method, path, body, out, headers...)
}

// make creates something and returns its id.
func (p *place) make(path, body string) string {
	p.w.t.Helper()
	var made struct{ ID string }
	p.must("POST", path, body, &made)
	return made.ID
}

func (p *place) scheduleBody(name string) string {
	return fmt.Sprintf(`{"name":"%s","cron":"0 3 1 1 *","zone":"Europe/Berlin","bulk_action":{"steps":[{"action":"award"}],"source":{"segment":{"url":"%s/segment"}}}}`, name, p.w.sink.URL)
}

// bulk creates a bulk action; more are further members.
func (p *place) bulk(more string) string {
	p.w.t.Helper()
	action := "award"
	if strings.Contains(more, "HOLD") {
		action, more = "hold", strings.ReplaceAll(more, "HOLD", "")
	}
	return "/v1/bulk-actions/" + p.make("/v1/bulk-actions", `{"steps":[{"action":"`+action+`"}]`+more+`}`)
}

const (
	someItems = `,"items":[{"id":"u1","data":{"n":1}},{"id":"u2","data":{"n":"bad"}}]`
	runAtOnce = `,"start":true`
)

func (p *place) state(path string) string {
	var b api.BulkAction
	p.must("GET", path, "", &b)
	return string(b.State)
}

// in waits for a state.
func (p *place) in(state, path string) string {
	p.w.t.Helper()
	p.w.until(path+" to be "+state, func() bool { return p.state(path) == state })
	return path
}

// completed is the id of a bulk action that has ended, with a failed item.
func (p *place) completed() string {
	p.w.t.Helper()
	path := p.in("completed", p.bulk(someItems+runAtOnce))
	return path[strings.LastIndexByte(path, '/')+1:]
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// collection is the path before the first parameter: it says what the parameter names.
func collection(r server.Route) string {
	i := strings.Index(r.Path, "/{")
	if i < 0 {
		return ""
	}
	return r.Path[:i]
}

// at is the path of a route for what this tenant has; false if it has no such thing.
func (p *place) at(r server.Route) (string, bool) {
	id, ok := p.ids[collection(r)]
	return parameter.ReplaceAllLiteralString(r.Path, id), ok
}

// nowhere is the path of a route for what nobody has, of the form that ids have.
func (p *place) nowhere(r server.Route) string {
	id, ok := p.ids[collection(r)]
	if !ok {
		return parameter.ReplaceAllLiteralString(r.Path, "nothing")
	}
	return parameter.ReplaceAllLiteralString(r.Path, unlike(id))
}

// unlike is an id of the same form that nothing has.
func unlike(id string) string {
	last := id[len(id)-1]
	for _, c := range "7z4b" {
		if byte(c) != last {
			return id[:len(id)-1] + string(c)
		}
	}
	return id
}

func (w *world) routes() []server.Route { return server.Routes(w.node.Server()) }

// secretsOf are the texts by which something of a tenant would be recognised.
func (p *place) marks() []string {
	return append(slices.Sorted(maps.Values(p.ids)), p.tenant)
}
