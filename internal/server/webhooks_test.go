package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/service/callback"
)

// inbox is an endpoint that keeps what it gets.
type inbox struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	got    []received
}

type received struct {
	header http.Header
	body   []byte
}

func newInbox(t *testing.T) *inbox {
	in := &inbox{status: 204}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		in.mu.Lock()
		defer in.mu.Unlock()
		in.got = append(in.got, received{r.Header.Clone(), body})
		w.WriteHeader(in.status)
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) all() []received {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]received(nil), in.got...)
}

func (in *inbox) answer(status int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.status = status
}

func TestAWebhookHearsOfItsTenantsBulkActionsSigned(t *testing.T) {
	w := start(t, opening{})
	in := newInbox(t)
	acme := &place{w, "acme", map[string]string{"admin": w.key("admin", "acme")}, nil}
	beta := &place{w, "beta", map[string]string{"admin": w.key("admin", "beta")}, nil}
	var hook api.Webhook
	a := acme.must("POST", "/v1/webhooks", `{"url":"`+in.URL+`","events":["bulk_action.completed"],"note":"for the report"}`, &hook)
	if a.header.Get("Location") != "/v1/webhooks/"+hook.ID || hook.Tenant != "acme" || !strings.HasPrefix(hook.Secret, "whsec_") {
		t.Fatalf("made %+v", hook)
	}
	beta.completed()
	acme.in("cancelled", acme.cancelled())
	id := acme.completed()
	w.until("the delivery", func() bool { return len(in.all()) > 0 })
	got := in.all()[0]
	if err := execute.Verify(hook.Secret, got.header, got.body, time.Now(), 5*time.Minute); err != nil {
		t.Errorf("signature: %v", err)
	}
	if !strings.Contains(string(got.body), id) || !strings.Contains(string(got.body), `"bulk_action.completed"`) {
		t.Errorf("body %s", got.body)
	}
	acme.described("BulkActionEvent", got.body)
	var page api.Page[api.Delivery]
	w.until("the log of it", func() bool {
		acme.must("GET", "/v1/bulk-actions/"+id+"/deliveries", "", &page)
		return len(page.Data) == 1 && page.Data[0].State == "delivered"
	})
	d := page.Data[0]
	if d.Webhook != hook.ID || d.URL != in.URL || len(d.Attempts) != 1 || d.Attempts[0].Status != 204 || d.Kind != "http" {
		t.Errorf("delivery %+v", d)
	}
	acme.must("POST", "/v1/deliveries/"+d.ID+"/resend", "", nil)
	w.until("the second delivery", func() bool { return len(in.all()) == 2 })
	if again := in.all()[1]; again.header.Get("Webhook-Id") != got.header.Get("Webhook-Id") || string(again.body) != string(got.body) {
		t.Errorf("sent again: %v %s", again.header, again.body)
	}
	if n := len(in.all()); n != 2 {
		t.Errorf("%d deliveries: others' or other events came, too", n)
	}
}

// described compares an event with its schema in the document.
func (p *place) described(schema string, event []byte) {
	p.w.t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(p.must("GET", "/openapi-3.0.json", "", nil).body))
	if err != nil {
		p.w.t.Fatal(err)
	}
	var sent map[string]any
	if err := json.Unmarshal(event, &sent); err != nil {
		p.w.t.Fatal(err)
	}
	for name := range sent {
		if doc.Components.Schemas[schema].Value.Properties[name] == nil {
			p.w.t.Errorf("%s: the document does not know %s of an event", schema, name)
		}
	}
	if err := doc.Components.Schemas[schema].Value.VisitJSON(sent); err != nil {
		p.w.t.Errorf("the event is not what the document says: %v\n%s", err, event)
	}
}

func (p *place) cancelled() string {
	path := p.bulk(someItems)
	p.must("POST", path+"/cancel", `{}`, nil)
	return path
}

func TestAWebhookIsTestedRotatedDisabledAndRemoved(t *testing.T) {
	w := start(t, opening{})
	in := newInbox(t)
	acme := &place{w, "acme", map[string]string{"admin": w.key("admin", "acme")}, nil}
	var hook api.Webhook
	acme.must("POST", "/v1/webhooks", `{"url":"`+in.URL+`"}`, &hook)
	first, path := hook.Secret, "/v1/webhooks/"+hook.ID
	acme.must("POST", path+"/rotate", `{"keep":"1h"}`, &hook)
	var d api.Delivery
	acme.must("POST", path+"/test", "", &d)
	if d.State != "delivered" || d.Type != "webhook.ping" {
		t.Errorf("test: %+v", d)
	}
	got := in.all()[0]
	acme.described("TestEvent", got.body)
	for name, secret := range map[string]string{"the secret before": first, "the new secret": hook.Secret} {
		if err := execute.Verify(secret, got.header, got.body, time.Now(), 5*time.Minute); err != nil {
			t.Errorf("%s does not sign: %v", name, err)
		}
	}
	leaked := hook.Secret
	acme.must("POST", path+"/rotate", `{"keep":"0s"}`, &hook)
	acme.must("POST", path+"/test", "", &d)
	got = in.all()[1]
	if err := execute.Verify(leaked, got.header, got.body, time.Now(), 5*time.Minute); err == nil {
		t.Error("a secret that was kept for 0s still signs")
	}
	in.answer(500)
	acme.must("POST", path+"/test", "", &d)
	if d.State != "failed" || d.Attempts[0].Status != 500 || d.Attempts[0].Code != "bad_status" {
		t.Errorf("a test that fails: %+v", d)
	}
	tag := acme.must("GET", path, "", &hook).header.Get("ETag")
	body := `{"url":"` + in.URL + `","disabled":true}`
	changed := acme.must("PUT", path, body, &hook, "If-Match", tag)
	if !hook.Disabled || changed.header.Get("ETag") == tag {
		t.Errorf("disabled: %+v", hook)
	}
	for _, method := range []string{"PUT", "DELETE"} {
		if a := acme.ask(method, path, map[string]string{"PUT": body}[method], "If-Match", tag); a.status != 412 || a.problem().Code != "changed_meanwhile" {
			t.Errorf("%s of what was changed meanwhile: %d %s", method, a.status, a.body)
		}
	}
	acme.must("DELETE", path, "", nil, "If-Match", changed.header.Get("ETag"))
	if a := acme.ask("GET", path, ""); a.status != 404 {
		t.Errorf("after it was removed: %d %s", a.status, a.body)
	}
}

func TestWebhooksThatCannotBeMade(t *testing.T) {
	w := start(t, opening{})
	acme := w.key("control", "acme")
	for _, tt := range []struct{ name, body, field, code string }{
		{"without a URL", `{}`, "url", "missing_field"},
		{"a file", `{"url":"file:///etc/passwd"}`, "url", "bad_url"},
		{"a private address", `{"url":"http://10.0.0.5/"}`, "url", "address_not_allowed"},
		{"events that there are not", `{"url":"` + w.sink.URL + `","events":["bulk_action.exploded"]}`, "events[0]", "bad_value"},
		{"a secret that is none", `{"url":"` + w.sink.URL + `","secret":"hunter2"}`, "secret", "bad_secret"},
		{"another's tenant", `{"url":"` + w.sink.URL + `","tenant":"beta"}`, "tenant", "bad_value"},
		{"a field that there is not", `{"url":"` + w.sink.URL + `","topic":"x"}`, "topic", "unknown_field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := w.in(t).ask(acme, "POST", "/v1/webhooks", tt.body)
			p := a.problem()
			if a.status < 400 || len(p.Errors) == 0 || p.Errors[0].Field != tt.field || p.Errors[0].Code != tt.code {
				t.Errorf("%d %s, want %s of %s", a.status, a.body, tt.code, tt.field)
			}
		})
	}
	if a := w.must(w.admin, "GET", "/v1/webhooks", "", nil); !strings.Contains(a.body, `"data":[]`) {
		t.Errorf("there is one: %s", a.body)
	}
}

// TestWhatIsSentToTheOperatorIsTheOperators: a webhook for all tenants hears of each, and no tenant hears of it.
func TestWhatIsSentToTheOperatorIsTheOperators(t *testing.T) {
	w := start(t, opening{})
	in := newInbox(t)
	acme := &place{w, "acme", map[string]string{"admin": w.key("admin", "acme")}, nil}
	var hook api.Webhook
	w.must(w.admin, "POST", "/v1/webhooks", fmt.Sprintf(`{"url":"%s","secret":"%s"}`, in.URL, callback.NewSecret()), &hook)
	if hook.Tenant != "" || hook.Secret != "" {
		t.Errorf("made %+v: a secret that was brought is not shown", hook)
	}
	id := acme.completed()
	w.until("the delivery", func() bool { return len(in.all()) == 1 })
	var theirs, all api.Page[api.Delivery]
	acme.must("GET", "/v1/bulk-actions/"+id+"/deliveries", "", &theirs)
	w.must(w.admin, "GET", "/v1/bulk-actions/"+id+"/deliveries", "", &all)
	if len(theirs.Data) != 0 || len(all.Data) != 1 {
		t.Fatalf("the tenant sees %+v, the operator %+v", theirs.Data, all.Data)
	}
	for _, c := range []struct{ method, path string }{
		{"GET", "/v1/webhooks/" + hook.ID},
		{"DELETE", "/v1/webhooks/" + hook.ID},
		{"GET", "/v1/deliveries?webhook=" + hook.ID},
		{"GET", "/v1/deliveries/" + all.Data[0].ID},
		{"POST", "/v1/deliveries/" + all.Data[0].ID + "/resend"},
	} {
		if a := acme.ask(c.method, c.path, ""); a.status != 404 {
			t.Errorf("%s %s by a tenant: %d %s", c.method, c.path, a.status, a.body)
		}
	}
}
