package server_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/service/callback"
)

// planted are secrets by where they were put, and where they may be seen.
type planted map[string]string

// whsec draws a signing secret, and remembers it.
func (p planted) whsec(where string) string {
	p[where] = callback.NewSecret()
	return p[where]
}

// word makes up a password, and remembers it.
func (p planted) word(where string) string {
	p[where] = "pw-" + hex.EncodeToString([]byte(callback.NewSecret())[10:26])
	return p[where]
}

// forms are the ways in which a secret may hide: as it is, and as encoders write it wherever in a text it is.
func forms(secret string) []string {
	out := []string{secret, url.QueryEscape(secret), hex.EncodeToString([]byte(secret))}
	for shift := range 3 { // base64 depends on where among three bytes it begins
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", shift) + secret))
		inner := strings.TrimRight(text, "=")
		inner = inner[(shift*8+5)/6:]
		inner = inner[:len(inner)-2]
		out = append(out, inner, strings.NewReplacer("+", "-", "/", "_").Replace(inner))
	}
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_")); err == nil && len(raw) > 16 {
		out = append(out, string(raw), hex.EncodeToString(raw), strings.TrimPrefix(secret, "whsec_"))
	}
	return out
}

// find looks for secrets in a text.
func (p planted) find(t *testing.T, where, text string) {
	t.Helper()
	for from, secret := range p {
		for _, form := range forms(secret) {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s holds the %s: …%.300s…", where, from, text[max(0, i-150):])
				break
			}
		}
	}
}

func TestFormsFindSecretsHoweverTheyAreWritten(t *testing.T) {
	p := planted{}
	secret := p.whsec("secret")
	for i, text := range []string{
		secret, "x" + base64.StdEncoding.EncodeToString([]byte(`{"a":"`+secret+`"}`)), base64.URLEncoding.EncodeToString([]byte("12" + secret + "34")),
		"q=" + url.QueryEscape(secret), hex.EncodeToString([]byte("ab" + secret)),
	} {
		found := false
		for _, form := range forms(secret) {
			found = found || strings.Contains(text, form)
		}
		if !found {
			t.Errorf("text %d: the secret is not found in %s", i, text)
		}
	}
}

// TestSecretsAreShownNowhere plants secrets wherever there is room for one, uses
// everything, and looks for them in all answers, the log, the audit and all that was
// ever written to the store.
func TestSecretsAreShownNowhere(t *testing.T) {
	p := planted{}
	w := start(t, opening{options: func(o *assembly.Options) {
		o.Connections = []api.Connection{{Name: "db", Kind: "postgres", URL: "127.0.0.1:1", Secret: map[string]string{"password": p.word("password of a connection of the file")}}}
		o.Actions = []api.Action{{Name: "filed", URL: "http://127.0.0.1:1/x", Secret: p.whsec("secret of an action of the file"), Header: map[string]string{"X-Key": p.word("header of an action of the file")}}}
	}})
	p["key of the configuration"] = w.admin
	w.acme, w.beta = w.furnish("acme"), w.furnish("beta")
	for scope, key := range w.acme.keys {
		p["key of acme, "+scope] = key
	}
	shown := w.plant(p)
	if len(p) < 20 {
		t.Fatalf("%d secrets are planted, want 20", len(p))
	}
	w.lookAtEverything()
	answers := w.answers.String()
	for _, s := range shown { // once, in the answer to who made it
		if strings.Count(answers, s) != 1 {
			t.Errorf("%.12s… is in %d answers, want 1", s, strings.Count(answers, s))
		}
		answers = strings.ReplaceAll(answers, s, "")
	}
	p.find(t, "an answer", answers)
	p.find(t, "the log", w.log.String())
	p.find(t, "the store", w.tape.String())
	if !strings.Contains(w.tape.String(), `"sealed1.`) || !strings.Contains(w.log.String(), `"route"`) {
		t.Error("nothing was sealed or logged: the test proves nothing")
	}
}

// plant puts secrets into all that takes one, and returns those that the server made and showed.
func (w *world) plant(p planted) (shown []string) {
	acme := w.acme
	remember := func(where, secret string) {
		p[where] = secret
		shown = append(shown, secret)
	}
	for _, key := range w.acme.keys {
		shown = append(shown, key)
	}
	for _, key := range w.beta.keys {
		shown = append(shown, key)
	}
	var k api.Key
	for range 2 { // the second one is a repeat, which must not show it
		acme.must("POST", "/v1/keys", `{"name":"one","scopes":["read"]}`, &k, "Idempotency-Key", "a key")
		if k.Key != "" {
			remember("key made with an Idempotency-Key", k.Key)
			k.Key = ""
		}
	}
	var hook api.Webhook
	acme.must("POST", "/v1/webhooks", acme.webhookBody(), &hook, "Idempotency-Key", "a hook")
	remember("secret that was made up for a webhook", hook.Secret)
	acme.must("POST", "/v1/webhooks", acme.webhookBody(), nil, "Idempotency-Key", "a hook")
	acme.must("POST", "/v1/webhooks/"+hook.ID+"/rotate", `{}`, &hook, "Idempotency-Key", "a rotation")
	remember("secret that a webhook was rotated to", hook.Secret)
	acme.must("POST", "/v1/webhooks", fmt.Sprintf(`{"url":"%s","secret":"%s"}`, w.sink.URL, p.whsec("secret brought for a webhook")), &hook)
	acme.must("POST", "/v1/webhooks/"+hook.ID+"/rotate", `{"secret":"`+p.whsec("secret brought for a rotation")+`"}`, nil)
	acme.must("POST", "/v1/webhooks/"+hook.ID+"/test", `{}`, nil)
	w.plantCallbacks(p)
	w.plantNamed(p)
	w.plantWrongly(p)
	return shown
}

// plantCallbacks plants the secrets of one-off callbacks, and has them used.
func (w *world) plantCallbacks(p planted) {
	callback := func(where string) string {
		return fmt.Sprintf(`"callback":{"url":"%s/once","secret":"%s"}`, w.sink.URL, p.whsec(where))
	}
	path := w.acme.in("completed", w.acme.bulk(someItems+runAtOnce+","+callback("secret of a callback")))
	w.until("the callback", func() bool {
		var page api.Page[api.Delivery]
		w.acme.must("GET", path+"/deliveries", "", &page)
		for _, d := range page.Data {
			if d.Webhook == "" && d.State == "delivered" {
				return true
			}
		}
		return false
	})
	template := strings.Replace(w.acme.scheduleBody("secretive"), `"bulk_action":{`, `"bulk_action":{`+callback("secret in a template")+",", 1)
	w.acme.must("PUT", "/v1/templates/secretive", `{"bulk_action":{"steps":[{"action":"award"}],`+callback("secret in a named template")+`}}`, nil)
	w.acme.must("GET", "/v1/templates/secretive", "", nil)
	w.acme.must("DELETE", "/v1/templates/secretive", "", nil) // what it was is in the audit
	id := w.acme.make("/v1/schedules", template)
	again := w.acme.must("GET", "/v1/schedules/"+id, "", nil) // what was shown can be sent back
	w.acme.must("PUT", "/v1/schedules/"+id, again.body, nil)
}

// plantNamed plants the secrets of actions and connections.
func (w *world) plantNamed(p planted) {
	if w.has("/v1/actions/{name}") {
		w.must(w.admin, "PUT", "/v1/actions/secretive", fmt.Sprintf(`{"url":"%s","secret":"%s","header":{"Authorization":"Bearer %s","X-Api":"%s"}}`,
			w.sink.URL, p.whsec("secret of an action"), p.word("header of an action"), p.word("another header of an action")), nil)
		w.must(w.admin, "POST", "/v1/actions/secretive/test", `{"items":[{"id":"u1"}]}`, nil)
	}
	if w.has("/v1/connections/{name}") {
		w.must(w.admin, "PUT", "/v1/connections/secretive", fmt.Sprintf(`{"kind":"http","url":"%s","secret":{"token":"%s","header.X-Api":"%s"}}`,
			w.sink.URL, p.word("token of a connection"), p.word("header of a connection")), nil)
		w.ask(w.admin, "POST", "/v1/connections/secretive/test", `{}`)
	}
}

// plantWrongly sends secrets where they are refused: a refusal repeats none.
func (w *world) plantWrongly(p planted) {
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/webhooks", `{"url":"` + w.sink.URL + `","secret":"` + p.word("secret that is none") + `"}`},
		{"POST", "/v1/webhooks", `{"url":"` + w.sink.URL + `","secret":["` + p.word("secret in a list") + `"]}`},
		{"POST", "/v1/webhooks", `{"url":"` + w.sink.URL + `","secret":"` + strings.Repeat(p.word("secret that is too long"), 30) + `"}`},
		{"POST", "/v1/webhooks", `{"url":"http://me:` + p.word("password in a URL") + `@127.0.0.1/"}`},
		{"POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"callback":{"url":"` + w.sink.URL + `","secret":"` + p.word("callback secret that is none") + `"}}`},
		{"PUT", "/v1/webhooks/" + w.acme.ids["/v1/webhooks"], `{"url":"` + w.sink.URL + `","secret":"` + p.whsec("secret where it cannot be changed") + `"}`},
		{"GET", "/v1/whoami?key=" + w.acme.keys["read"], ""},
		{"GET", "/v1/nothing/" + w.acme.keys["submit"], ""},
	} {
		if a := w.acme.ask(c.method, c.path, c.body); a.status < 400 || a.status >= 500 {
			w.t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, a.status, a.body)
		}
	}
}

// lookAtEverything reads all that can be read, as an operator and as a tenant.
func (w *world) lookAtEverything() {
	for _, r := range w.routes() {
		if r.Method != http.MethodGet || strings.HasSuffix(r.Path, "/events") {
			continue
		}
		path, ok := w.acme.at(r)
		if !ok {
			path = r.Path
		}
		for _, key := range []string{w.admin, w.acme.keys["admin"]} {
			w.ask(key, "GET", w.acme.listed(path), "")
		}
	}
	for _, format := range []string{"csv", "ndjson"} {
		w.must(w.admin, "GET", "/v1/audit?format="+format, "", nil)
	}
	for _, path := range []string{"/v1/webhooks", "/v1/schedules", "/v1/keys", "/v1/bulk-actions", "/v1/connections/secretive", "/v1/actions/secretive", "/v1/connections/db", "/v1/actions/filed"} {
		w.ask(w.admin, "GET", path, "")
	}
}
