package dashboard_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"golang.org/x/net/html"
)

// TestPagesOfferWhatTheAPIAccepts walks all pages with keys of different rights. Every form that a page shows is
// accepted by the API, and every form that is left out would be refused.
func TestPagesOfferWhatTheAPIAccepts(t *testing.T) {
	open := make(chan struct{})
	admin := worldOfForms(t, open)
	t.Cleanup(func() { close(open) })
	all := walk(t, admin)
	for _, want := range []string{"/limits", "/reset", "/circuit/open", "/pin", "/lanes/pause", "/lanes/scaling", "/failed/retry", "/failed/discard",
		"/settings/new/action", "/settings/new/connection", "/settings/new/template", "/settings/new/tenant", "/settings/new/webhook", "/settings/new/key",
		"/settings/actions/push/edit", "/settings/tenants/growth/edit", "/settings/templates/of-all/delete", "/rotate", "/revoke", "/schedules/new", "/backfill",
		"/new", "/approve", "/cancel", "/rules", "/clone", "/start"} {
		if !slices.ContainsFunc(all.actions(), func(a string) bool { return strings.HasSuffix(a, want) }) {
			t.Errorf("the administrator is not offered %s; this test would prove nothing about it", want)
		}
	}
	people := []struct {
		name    string
		scopes  []access.Scope
		tenants []string
		never   []string // what is certainly not offered
	}{
		{"read only", []access.Scope{access.Read}, nil, []string{"/ui/new", "/pause", "/edit", "/limits"}},
		{"read only, one tenant", []access.Scope{access.Read}, []string{"growth"}, []string{"/ui/new", "/pause", "/edit"}},
		{"submits for one tenant", []access.Scope{access.Read, access.Submit}, []string{"growth"}, []string{"/pause", "/settings/templates/of-all/edit"}},
		{"everything for one tenant", []access.Scope{access.Read, access.Submit, access.Control, access.Approve}, []string{"growth"},
			[]string{"/limits", "/circuit/open", "/pin", "/lanes/pause", "/lanes/scaling", "/settings/tenants/growth/edit"}},
		{"administers one tenant", []access.Scope{access.Admin}, []string{"growth"}, []string{"/limits", "/settings/actions/push/edit", "/settings/tenants/growth/edit"}},
		{"controls all tenants", []access.Scope{access.Read, access.Control}, nil, []string{"/ui/new", "/schedules/new"}},
	}
	for _, tt := range people { // nothing that they send here changes anything
		t.Run(tt.name+" is not offered what is refused", func(t *testing.T) {
			mine := walk(t, admin.As(tt.scopes, tt.tenants...))
			for _, action := range mine.actions() {
				if slices.ContainsFunc(tt.never, func(end string) bool { return strings.HasSuffix(action, end) }) {
					t.Errorf("%s is offered on %s", action, mine.forms[action].page)
				}
			}
			for _, action := range all.actions() {
				if _, shown := mine.forms[action]; shown {
					continue
				}
				status, page := mine.send(action, all.forms[action])
				if status != http.StatusForbidden && status != http.StatusNotFound {
					t.Errorf("%s is not offered, but sent it gets %d: %s", action, status, text(t, page))
				}
			}
		})
	}
	for _, tt := range people {
		t.Run(tt.name+" may do what is offered", func(t *testing.T) {
			mine := walk(t, admin.As(tt.scopes, tt.tenants...))
			for _, action := range mine.actions() {
				if status, page := mine.send(action, mine.forms[action]); status == http.StatusForbidden {
					t.Errorf("%s is offered on %s, but refused: %s", action, mine.forms[action].page, text(t, page))
				}
			}
		})
	}
}

// worldOfForms starts a server that has something of everything, and returns it with the key of an administrator.
func worldOfForms(t *testing.T, open <-chan struct{}) *nodetest.Node {
	t.Helper()
	now := make(chan struct{})
	close(now)
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open), gated("award", now)}, Closed: true}).As([]access.Scope{access.Admin})
	award := func(name, more string) string {
		return `{"name":"` + name + `","tenant":"growth","steps":[{"action":"award"}]` + more + `}`
	}
	running := n.Make(oneStep, `{"id":"u1"}`+"\n")
	n.Until(running.ID, api.Running)
	failed := n.Make(award("failed", ""), `{"id":"u2","fail":"closed"}`+"\n")
	n.Until(failed.ID, api.Completed)
	canary := n.Make(award("canary", `,"canary":{"items":1,"approve":"manual"}`), `{"id":"u3"}`+"\n"+`{"id":"u4"}`+"\n")
	n.Until(canary.ID, api.Awaiting)
	n.Make(strings.ReplaceAll(oneStep, "growth", "crm"), `{"id":"u5"}`+"\n")
	n.Call("POST", "/v1/bulk-actions", award("draft", ""), 201, nil)
	sealed := api.BulkAction{}
	n.Call("POST", "/v1/bulk-actions", award("sealed", `,"items":[{"id":"u6"}]`), 201, &sealed)
	hook, gone := "http://127.0.0.1:1/", `{"kind":"postgres","url":"127.0.0.1:1"`
	n.Call("PUT", "/v1/actions/push", `{"url":"`+hook+`"}`, 200, nil)
	n.Call("PUT", "/v1/actions/own-push", `{"url":"`+hook+`","tenants":["growth"]}`, 200, nil)
	n.Call("PUT", "/v1/connections/crm", gone+`}`, 200, nil)
	n.Call("PUT", "/v1/connections/own-crm", gone+`,"tenants":["growth"]}`, 200, nil)
	n.Call("PUT", "/v1/templates/of-all", `{"bulk_action":{"steps":[{"action":"award"}]}}`, 200, nil)
	n.Call("PUT", "/v1/templates/own", `{"tenant":"growth","bulk_action":{"steps":[{"action":"award"}]}}`, 200, nil)
	n.Call("PUT", "/v1/tenants/growth", `{"weight":2}`, 200, nil)
	n.Call("PUT", "/v1/resources/send", `{"rate":"5/s"}`, 200, nil)
	n.Eventually("a lane is listed", func() bool {
		var lanes api.Page[api.Lane]
		n.Call("GET", "/v1/lanes", "", 200, &lanes)
		return len(lanes.Data) > 0
	})
	n.Call("POST", "/v1/webhooks", `{"url":"`+hook+`"}`, 201, nil)
	n.Call("POST", "/v1/webhooks", `{"url":"`+hook+`","tenant":"growth"}`, 201, nil)
	n.Call("POST", "/v1/schedules", `{"name":"weekly","tenant":"growth","cron":"0 9 * * 1","zone":"UTC","bulk_action":{"template":"own","items":[{"id":"u7"}]}}`, 201, nil)
	return n
}

// offered are the forms that a person finds on the pages.
type offered struct {
	*browser
	forms map[string]form // by their address
}

type form struct {
	page, enctype string // page is where it was found
	fields        url.Values
}

// send sends a form of this or of another person.
func (o *offered) send(action string, f form) (status int, page string) {
	o.t.Helper()
	if f.enctype == "" {
		return o.post(action, f.fields)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name := range f.fields {
		if err := w.WriteField(name, f.fields.Get(name)); err != nil {
			o.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		o.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(o.t.Context(), http.MethodPost, o.node.URL+action, &body)
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	return o.do(req)
}

func (o *offered) actions() (list []string) {
	for a := range o.forms {
		list = append(list, a)
	}
	slices.Sort(list)
	return list
}

// walk signs in with the key of n, follows every link and notes every form.
func walk(t *testing.T, n *nodetest.Node) *offered {
	t.Helper()
	o := &offered{newBrowser(t, n), map[string]form{}}
	o.post("/ui/sign-in", url.Values{"key": {n.Key()}})
	seen, queue := map[string]bool{"/ui/": true}, []string{"/ui/"}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		status, page := o.get(at)
		if status != http.StatusOK {
			t.Errorf("a link leads to %s, which answers %d: %s", at, status, text(t, page))
			continue
		}
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			switch {
			case n.Data == "a" && n.Type == html.ElementNode:
				to, _, _ := strings.Cut(attr(n, "href"), "#")
				if to = resolve(t, at, to); strings.HasPrefix(to, "/ui/") && !strings.Contains(to, ".csv") && !strings.Contains(to, "/results") && !seen[to] {
					seen[to], queue = true, append(queue, to)
				}
			case n.Data == "form" && attr(n, "method") == "post" && !strings.HasSuffix(attr(n, "action"), "/theme") && !strings.HasSuffix(attr(n, "action"), "/sign-out"):
				o.forms[attr(n, "action")] = form{at, attr(n, "enctype"), fieldsOf(n)}
			case n.Type == html.ElementNode && n.Data == "button" && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "disabled" }):
				t.Errorf("%s shows a button that does nothing: %s", at, text(t, attr(n, "name")))
			}
		}
		if len(seen) > 600 {
			t.Fatal("the pages do not end")
		}
	}
	return o
}

func resolve(t *testing.T, base, to string) string {
	t.Helper()
	b, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u, err := b.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return u.String()
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// typed is what a person types into empty fields, by their names.
var typed = map[string]string{"reason": "a test", "pause": "a test", "name": "walked", "workers": "1", "until": time.Now().Add(time.Hour).Format("2006-01-02T15:04"),
	"url": "http://127.0.0.1:1/", "rate": "7/s", "from": "2026-01-01T00:00", "to": "2026-01-08T00:00", "bulk_action": "steps: [{action: award}]\nitems: [{id: u9}]",
	"rows": "u10", "action": "award", "first": "1", "start_at": "2099-01-01T09:00", "zone": "UTC", "id": "u1"}

// fieldsOf fills in a form as a person would.
func fieldsOf(f *html.Node) url.Values {
	out := url.Values{}
	for n := range f.Descendants() {
		name, kind := attr(n, "name"), attr(n, "type")
		value := attr(n, "value")
		switch {
		case name == "" || n.Type != html.ElementNode:
			continue
		case n.Data == "input" && kind == "checkbox" && !strings.Contains(attr(n, "id"), "scopes"), n.Data == "button":
			continue
		case n.Data == "textarea" && n.FirstChild != nil:
			value = strings.TrimSpace(n.FirstChild.Data)
		case n.Data == "select":
			for o := range n.Descendants() {
				if o.Data == "option" && slices.ContainsFunc(o.Attr, func(a html.Attribute) bool { return a.Key == "selected" }) {
					value = attr(o, "value")
				}
			}
		}
		if value == "" || name == "rate" { // the same rate again would change nothing
			value = typed[name]
		}
		out.Set(name, value)
	}
	if out.Has("from") && out.Has("to") { // of a backfill, whose times have been shown
		out.Set("shown", out.Get("from")+" "+out.Get("to"))
	}
	return out
}
