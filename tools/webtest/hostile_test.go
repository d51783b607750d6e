package webtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// hostile is a server full of payloads.
type hostile struct {
	*server
	bulks []string // named, owned, labelled and cancelled by payloads
	items string   // the bulk action whose items are payloads, and fail with them
	rest  []string // addresses of what else has payloads
}

// attempt makes a request that may be refused, but has to be answered as the API answers.
func (s *server) attempt(method, path, body string, out any) bool {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url(path), strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if strings.HasSuffix(path, "/items") {
		req.Header.Set("Content-Type", "application/x-ndjson")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode < 300 {
		if out != nil && json.Unmarshal(raw, out) != nil {
			s.t.Errorf("%s %s is answered with %.200s", method, path, raw)
		}
		return true
	}
	var p struct{ Code, Detail string }
	if resp.StatusCode >= 500 || json.Unmarshal(raw, &p) != nil || p.Code == "" {
		s.t.Errorf("%s %.100s with %.100s is refused with %s: %.300s", method, path, body, resp.Status, raw)
	}
	return false
}

// fill puts every payload wherever the API takes it.
func fill(t *testing.T) *hostile {
	t.Helper()
	answer := payload{}
	s, d := &hostile{server: serve(t, "--limits-requests-per-second", "10000")}, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Items []struct {
				Data struct{ Note json.RawMessage } `json:"data"`
				ID   string                         `json:"id"`
			} `json:"items"`
		}
		_ = json.NewDecoder(r.Body).Decode(&in) // a test event has no items
		var results []string
		for _, it := range in.Items {
			note := string(it.Data.Note)
			results = append(results, fmt.Sprintf(`{"id":%s,"status":"failed","code":%s,"message":%s,"output":{"note":%s}}`, quote(it.ID), note, note, note))
		}
		if r.URL.Path == "/hook" {
			_, _ = io.WriteString(w, answer.text)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"results":[`+strings.Join(results, ",")+`]}`)
	}))
	t.Cleanup(d.Close)
	s.call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":"%s/award","batch":1}`, d.URL), nil)
	s.fillItems()
	for i, p := range payloads {
		s.fillBulk(i, p)
		s.fillSettings(i, p)
	}
	var hook struct{ ID string }
	s.call("POST", "/v1/webhooks", fmt.Sprintf(`{"url":"%s/hook"}`, d.URL), &hook)
	for _, p := range payloads {
		answer = p
		var sent struct{ ID string }
		s.call("POST", "/v1/webhooks/"+hook.ID+"/test", "{}", &sent)
		s.rest = append(s.rest, "/ui/settings/deliveries/"+sent.ID)
	}
	s.rest = append(s.rest, "/ui/settings/webhooks/"+hook.ID)
	return s
}

// fillItems makes a bulk action whose items are payloads.
func (s *hostile) fillItems() {
	s.t.Helper()
	var b struct{ ID string }
	s.call("POST", "/v1/bulk-actions", `{"name":"items","tenant":"growth","start":true,"item_id":"id","steps":[{"action":"award"}]}`, &b)
	s.items = b.ID
	for i, p := range payloads {
		row := fmt.Sprintf(`{"id":%s,"note":%s}`+"\n", p.wire(), p.wire())
		if !s.attempt("POST", "/v1/bulk-actions/"+b.ID+"/items", row, nil) {
			s.call("POST", "/v1/bulk-actions/"+b.ID+"/items", fmt.Sprintf(`{"id":"item-%d","note":%s}`+"\n", i, quote(p.text)), nil)
		}
	}
	s.call("POST", "/v1/bulk-actions/"+b.ID+"/seal", "{}", nil)
	s.until(b.ID, "completed")
}

// fillBulk makes a bulk action with a payload for a name, a tenant, a label and the reason of its end.
func (s *hostile) fillBulk(i int, p payload) {
	s.t.Helper()
	spec := func(name, tenant, label string) string {
		return fmt.Sprintf(`{"name":%s,"tenant":%s,"labels":{%s:%s},"steps":[{"action":"award"}],"items":[{"id":"u1"}]}`, name, tenant, label, label)
	}
	var b struct{ ID string }
	plain := fmt.Sprintf(`"plain-%d"`, i)
	for _, body := range []string{spec(p.wire(), p.wire(), p.wire()), spec(p.wire(), `"t"`, p.wire()), spec(p.wire(), `"t"`, `"l"`), spec(plain, `"t"`, p.wire()), spec(plain, `"t"`, `"l"`)} {
		if s.attempt("POST", "/v1/bulk-actions", body, &b) {
			break
		}
	}
	s.bulks = append(s.bulks, b.ID)
	if !s.attempt("POST", "/v1/bulk-actions/"+b.ID+"/cancel", fmt.Sprintf(`{"reason":%s}`, p.wire()), nil) {
		s.call("POST", "/v1/bulk-actions/"+b.ID+"/cancel", "{}", nil)
	}
}

// fillSettings puts a payload into settings of every kind: as its name if that is possible, and as what it says.
func (s *hostile) fillSettings(i int, p payload) {
	s.t.Helper()
	text, name, plain := p.wire(), url.PathEscape(p.short()), fmt.Sprintf("plain-%d", i)
	var made struct{ ID string }
	one := `"bulk_action":{"steps":[{"action":"award"}]}`
	for _, at := range []string{name, plain} {
		s.attempt("PUT", "/v1/templates/"+at, fmt.Sprintf(`{"title":%s,"description":%s,%s}`, text, text, one), nil)
		s.attempt("PUT", "/v1/tenants/"+at, `{"weight":2}`, nil)
		s.attempt("PUT", "/v1/resources/"+at, `{"rate":"5/s"}`, nil)
		s.attempt("PUT", "/v1/connections/"+at, fmt.Sprintf(`{"kind":"http","url":"https://example.com/","option":{"x":%s}}`, text), nil)
		s.attempt("PUT", "/v1/actions/"+at, fmt.Sprintf(`{"url":"https://example.com/?x=%s"}`, url.QueryEscape(p.short())), nil)
	}
	s.rest = append(s.rest, "/ui/settings/templates/"+plain+"/edit")
	if s.attempt("POST", "/v1/schedules", fmt.Sprintf(`{"name":%s,"tenant":"t","cron":"0 9 * * 1","bulk_action":{"name":%s,"steps":[{"action":"award"}],"items":[{"id":%s}]}}`, text, text, text), &made) {
		s.rest = append(s.rest, "/ui/schedules/"+made.ID)
	}
	if s.attempt("POST", "/v1/webhooks", fmt.Sprintf(`{"url":"https://example.com/%d?x=%s","note":%s}`, i, url.QueryEscape(p.short()), text), &made) {
		s.rest = append(s.rest, "/ui/settings/webhooks/"+made.ID+"/edit")
	}
	if s.attempt("POST", "/v1/keys", fmt.Sprintf(`{"name":%s,"scopes":["read"]}`, text), &made) {
		s.rest = append(s.rest, "/ui/settings/keys/"+made.ID+"/revoke")
	}
	s.attempt("POST", "/v1/resources/award/circuit", fmt.Sprintf(`{"do":"open","for":"10m","reason":%s}`, text), nil)
}

// typed are pages with forms into which payloads are typed, and asked are addresses with a payload for each %s.
var (
	typed = []string{"/ui/new", "/ui/schedules/new", "/ui/settings/new/action", "/ui/settings/new/connection", "/ui/settings/new/template",
		"/ui/settings/new/tenant", "/ui/settings/new/webhook", "/ui/settings/new/key", "/ui/resources?of=award", "/ui/lanes", "/ui/simulator",
		"/ui/settings/actions/award/test", "/ui/failed", "/ui/settings/audit"}
	asked = []string{"/ui/bulk-actions?name=%[1]s&tenant=%[1]s&label=%[1]s", "/ui/bulk-actions?state=%[1]s&template=%[1]s&cursor=%[1]s", "/ui/bulk-actions?from=%[1]s&to=%[1]s", "/ui/failed?message=%[1]s",
		"/ui/failed?code=%[1]s&action=%[1]s&tenant=%[1]s&group=%[1]s", "/ui/settings/audit?action=%[1]s&target=%[1]s&actor=%[1]s&from=%[1]s", "/ui/resources?of=%[1]s&rate=%[1]s",
		"/ui/lanes?lane=%[1]s", "/ui/new?template=%[1]s", "/ui/simulator?rate=%[1]s&workers=%[1]s&of=%[1]s", "/ui/bulk-actions/%[1]s", "/ui/items/%[1]s", "/ui/settings/%[1]s", "/ui/%[1]s"}
)

// TestPayloadsStayTexts shows payloads on every page that can show them.
func TestPayloadsStayTexts(t *testing.T) {
	if len(payloads) != 40 {
		t.Fatalf("%d payloads", len(payloads))
	}
	s := fill(t)
	of := "/ui/bulk-actions/" + s.items
	paths := []string{"/ui/", "/ui/bulk-actions", "/ui/failed", "/ui/schedules", "/ui/resources", "/ui/resources?of=award", "/ui/lanes", "/ui/new", "/ui/settings/actions",
		"/ui/settings/connections", "/ui/settings/templates", "/ui/settings/webhooks", "/ui/settings/tenants", "/ui/settings/keys", "/ui/settings/audit",
		of, of + "/items", of + "/errors", of + "/timeline", of + "/report"}
	for i := 0; i < len(s.rest); i += 3 { // their lists show all of them
		paths = append(paths, s.rest[i])
	}
	for i, p := range payloads {
		paths = append(paths, "/ui/bulk-actions/"+s.bulks[i], fmt.Sprintf("/ui/items/itm_%s-%d", strings.TrimPrefix(s.items, "ba_"), i),
			fmt.Sprintf(asked[i%len(asked)], url.QueryEscape(p.short())))
	}
	t.Run("pages", func(t *testing.T) {
		const tabs = 2
		for first := range tabs {
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				b := open(t, s.server)
				for i := first; i < len(paths); i += tabs {
					b.open(s.url(paths[i]))
					b.whole()
				}
				for i := first; i < len(payloads); i += tabs {
					b.open(s.url("/ui/items"))
					b.send(payloads[i].text)
					b.whole()
					b.open(s.url(typed[i%len(typed)]))
					b.send(payloads[i].text)
					b.whole()
				}
			})
		}
	})
}

// open opens a page, and waits until its parts were pushed once.
func (b *tab) open(address string) {
	b.t.Helper()
	b.mu.Lock()
	before := b.pushed
	b.mu.Unlock()
	b.visit(address)
	var live bool
	b.do(chromedp.Evaluate(`document.documentElement.dataset.live !== undefined`, &live))
	for end := time.Now().Add(patience); live; time.Sleep(10 * time.Millisecond) {
		b.mu.Lock()
		live = b.pushed == before
		b.mu.Unlock()
		if time.Now().After(end) {
			b.t.Fatalf("%s is live, and nothing is pushed", address)
		}
	}
}

// send types a text into all fields of the last form of the page, and sends it.
func (b *tab) send(text string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(`(text => {
		const form = [...document.querySelectorAll('main form')].sort((a, b) => a.elements.length - b.elements.length).pop()
		if (!form) return
		for (const field of form.elements) {
			if (field.matches('input:not([type=hidden], [type=checkbox], [type=radio], [type=file]), textarea')) field.value = text
		}
		document.documentElement.id = 'before'
		form.submit()
	})(`+quote(text)+`)`, nil), chromedp.WaitReady("html:not(#before) footer.foot", chromedp.ByQuery))
}

// whole fails unless the frame of the page is complete, and not wider than the window.
func (b *tab) whole() {
	b.t.Helper()
	var wrong string
	b.do(chromedp.Evaluate(`(() => {
		if (document.querySelectorAll('h1').length !== 1 || !document.querySelector('main h1')) return 'the heading'
		if (!document.querySelector('body > footer.foot') || !document.querySelector('body > main') || !document.querySelector('body > header.bar')) return 'the frame'
		if (!document.title.endsWith(' · weir')) return 'the title, which is ' + document.title
		if (document.querySelector('iframe, base, main script, main style, main link, main meta')) return 'what is in it'
		return ''
	})()`, &wrong))
	if wrong != "" {
		b.t.Errorf("%.200s: %s is broken", b.where(), wrong)
	}
	for _, width := range []int64{390, 1280} {
		b.wide(width, 900)
		b.fits(fmt.Sprint(width))
	}
}

// TestTheWatchSeesWhatRuns shows that the tests above could fail.
func TestTheWatchSeesWhatRuns(t *testing.T) {
	s := serve(t)
	b := open(t, s)
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/policy" {
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<main><img src="http://`+s.address+`/x"><script>__hit=7; alert('eight')</script></main>`)
	}))
	t.Cleanup(bad.Close)
	b.visit(bad.URL + "/open")
	b.visit(bad.URL + "/policy")
	for _, want := range []string{"payload 7 ran", "dialog: eight", "policy: script-src", "policy: img-src", "request to " + bad.URL} {
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			b.mu.Lock()
			heard := strings.Join(b.troubles, "\n")
			b.mu.Unlock()
			if strings.Contains(heard, want) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%q was not noticed:\n%s", want, heard)
			}
		}
	}
	b.ignored = []string{""}
}
