package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/server"
	"github.com/weirhq/weir/store/memstore"
)

func TestWhatTheProgramSubmitsIsSeenOverTheAPI(t *testing.T) {
	told := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		line, _ := bufio.NewReader(r.Body).ReadString(0) // to its end
		told <- line
	}))
	t.Cleanup(hook.Close)
	m := mount(t, server.Options{Prefix: "/bulk", Open: true, Egress: []string{"loopback"}})
	c := m.client(client.Options{})
	if _, err := c.Webhooks().Create(t.Context(), api.Webhook{URL: hook.URL}); err != nil {
		t.Fatal(err)
	}
	b, err := engine.Submit(t.Context(), m.engine, greet, engine.Items([]weir.Item[json.RawMessage]{{ID: "a", Value: json.RawMessage(`{}`)}}),
		weir.Spec{Name: "spring", Tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen, err := c.Get(t.Context(), string(b.ID()))
	if err != nil || seen.Name != "spring" || seen.Tenant != "acme" || seen.State != api.Completed || seen.Steps[0].Action != "greet" {
		t.Errorf("Get = %+v, %v", seen, err)
	}
	if _, text := m.want(200, "GET", "/bulk/ui/bulk-actions/"+string(b.ID()), ""); !strings.Contains(text, "spring") {
		t.Error("its page does not show it")
	}
	if event := <-told; !strings.Contains(event, "bulk_action.completed") || !strings.Contains(event, `"/bulk/v1/bulk-actions/`+string(b.ID())+`"`) {
		t.Errorf("the webhook is told %s", event)
	}
	a, err := c.Actions().Get(t.Context(), "greet")
	if err != nil || a.Origin != "program" {
		t.Errorf("the action is %+v, %v", a, err)
	}
}

func TestAnEngineGetsItsServerOnceAndBeforeItRuns(t *testing.T) {
	o := server.Options{Open: true, VaultKey: vaultKey(t), Logger: quiet}
	eng := opened(t)
	if _, err := server.New(t.Context(), eng, o); err != nil {
		t.Fatal(err)
	}
	if err := eng.Handle(greet); err == nil || !strings.Contains(err.Error(), "before server.New") {
		t.Errorf("Handle after New = %v", err)
	}
	if _, err := server.New(t.Context(), eng, o); err == nil || !strings.Contains(err.Error(), "already belongs") {
		t.Errorf("a second New = %v", err)
	}
	ran := opened(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ran.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := server.New(t.Context(), ran, o); err == nil || !strings.Contains(err.Error(), "before Run") {
		t.Errorf("New after Run = %v", err)
	}
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	key, who := vaultKey(t), func(*http.Request) (server.Principal, error) { return server.Principal{}, nil }
	for _, tt := range []struct {
		name string
		o    server.Options
		want string
	}{
		{"no vault key", server.Options{Open: true}, "VaultKey: is empty"},
		{"a short vault key", server.Options{Open: true, VaultKey: []byte("short")}, "VaultKey: line 1"},
		{"no one could use it", server.Options{VaultKey: key}, "no API key exists"},
		{"a login and open", server.Options{VaultKey: key, Principal: who, Open: true}, "Principal: excludes"},
		{"a login and keys", server.Options{VaultKey: key, Principal: who, AdminKeys: []string{strings.Repeat("a", 32)}}, "Principal: excludes"},
		{"open and keys", server.Options{VaultKey: key, Open: true, AdminKeys: []string{strings.Repeat("a", 32)}}, "Open: excludes"},
		{"a key that can be guessed", server.Options{VaultKey: key, AdminKeys: []string{"admin"}}, "AdminKeys: a key has less"},
		{"an address that is none", server.Options{VaultKey: key, Open: true, Egress: []string{"home"}}, "Egress[0]"},
		{"a negative limit", server.Options{VaultKey: key, Open: true, Limits: server.Limits{Streams: -1}}, "Limits.Streams"},
	} {
		if _, err := server.New(t.Context(), opened(t), tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: New = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestAVaultKeyThatDoesNotOpenTheSecretsIsRefused(t *testing.T) {
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = s.Close() })
	open := func(key []byte) (*server.Server, error) {
		eng, err := engine.Open(t.Context(), s, engine.Options{Partitions: 1, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		return server.New(t.Context(), eng, server.Options{Open: true, VaultKey: key, Logger: quiet})
	}
	first := vaultKey(t)
	srv, err := open(first)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("PUT", "http://localhost/v1/actions/award",
		strings.NewReader(`{"url":"https://example.com/","secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if srv.ServeHTTP(w, r); w.Code > 299 {
		t.Fatalf("the action is answered with %d %s", w.Code, w.Body)
	}
	if _, err := open(vaultKey(t)); err == nil || !strings.Contains(err.Error(), "encrypted with key") || !strings.Contains(err.Error(), "action/award") {
		t.Errorf("New with another key = %v", err)
	}
	if _, err := open(append(vaultKey(t), first...)); err != nil {
		t.Errorf("New with a new key before the old one = %v", err)
	}
}

func TestReadOnlyPagesChangeNothing(t *testing.T) {
	m := mount(t, server.Options{Prefix: "/bulk", Open: true, ReadOnlyPages: true})
	_, text := m.want(201, "POST", "/bulk/v1/bulk-actions", strings.Replace(oneItem, `,"start":true`, "", 1))
	id := text[strings.Index(text, "ba_"):][:len("ba_")+26]
	_, page := m.want(200, "GET", "/bulk/ui/bulk-actions/"+id, "")
	if strings.Contains(page, id+"/start") || strings.Contains(page, id+"/cancel") {
		t.Error("the page has buttons")
	}
	m.want(403, "POST", "/bulk/ui/bulk-actions/"+id+"/start", "")
	m.want(403, "GET", "/bulk/ui/bulk-actions/"+id+"/cancel", "")
	rows := "--x\r\nContent-Disposition: form-data; name=\"rows\"\r\n\r\nu1\r\n--x--\r\n"
	m.want(403, "POST", "/bulk/ui/new/"+id+"/data", rows, "Content-Type", "multipart/form-data; boundary=x")
	const form = "application/x-www-form-urlencoded"
	m.want(http.StatusSeeOther, "POST", "/bulk/ui/theme", "theme=dark", "Content-Type", form)
	m.want(200, "POST", "/bulk/ui/items", "id=u1", "Content-Type", form) // a question, whose text must not be in an address
	m.want(200, "POST", "/bulk/v1/bulk-actions/"+id+"/start", "{}")
}

func TestMetricsAreThoseOfTheProgram(t *testing.T) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "shop_orders_total", Help: "Orders."}))
	m := mount(t, server.Options{Prefix: "/bulk", Open: true, Metrics: reg})
	m.want(200, "GET", "/bulk/v1/whoami", "")
	_, text := m.want(200, "GET", "/bulk/metrics", "")
	for _, name := range []string{"shop_orders_total", "weir_http_request_duration_seconds", "weir_store_ready"} {
		if !strings.Contains(text, name) {
			t.Errorf("/metrics lacks %s", name)
		}
	}
}

func TestStreamsEndWhenTheServerIsToldToStop(t *testing.T) {
	m := mount(t, server.Options{Prefix: "/bulk", Open: true})
	_, text := m.want(201, "POST", "/bulk/v1/bulk-actions", strings.Replace(oneItem, `,"start":true`, "", 1))
	id := text[strings.Index(text, "ba_"):][:len("ba_")+26]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", m.url+"/bulk/v1/bulk-actions/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := m.web.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() {
		t.Fatal("the stream has no event")
	}
	m.stop()
	for lines.Scan() { // to its end
	}
	if lines.Err() != nil {
		t.Errorf("the stream was cut off: %v", lines.Err())
	}
	m.want(503, "POST", "/bulk/v1/bulk-actions", oneItem)
}
