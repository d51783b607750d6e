package webtest

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// closed makes a server with keys out of one without: an administrator's, and some with the scope read.
func (s *server) closed(n int) (admin string, ids, keys []string) {
	s.t.Helper()
	type made struct{ ID, Key string }
	var root made
	s.call("POST", "/v1/keys", `{"name":"admin","scopes":["admin"]}`, &root)
	for range n {
		var k made
		s.call("POST", "/v1/keys", `{"name":"a person","scopes":["read"]}`, &k)
		ids, keys = append(ids, k.ID), append(keys, k.Key)
	}
	file := filepath.Join(s.t.TempDir(), "admin.key")
	if err := os.WriteFile(file, []byte(root.Key), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.kill()
	s.args = append(s.args, "--admin-key-file", file)
	s.start()
	return root.Key, ids, keys
}

// TestAPageSaysThatItsKeyWasRevoked follows a page until its key is revoked, and signs in again.
func TestAPageSaysThatItsKeyWasRevoked(t *testing.T) {
	s := serve(t)
	admin, ids, keys := s.closed(2)
	b := open(t, s)
	at := s.url("/ui/bulk-actions?name=spring")
	b.visit(at)
	b.fill("API key", keys[0])
	b.press("Sign in")
	b.badge("Live")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.url("/v1/keys/"+ids[0]), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+admin)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	b.badge("Signed out")
	b.see("You are signed out. The key was revoked or has expired.")
	b.do(chromedp.Click(".strip.offline a", chromedp.ByQuery))
	b.see("Keys begin with wk_", "Sign in")
	b.fill("API key", keys[1])
	b.press("Sign in")
	b.badge("Live")
	if got := b.where(); got != at {
		t.Errorf("after signing in again the page is %s, not %s", got, at)
	}
}

// TestAPageSaysWhyItsStreamIsRefused puts answers between the page and the server.
func TestAPageSaysWhyItsStreamIsRefused(t *testing.T) {
	s := serve(t)
	to, err := url.Parse(s.url(""))
	if err != nil {
		t.Fatal(err)
	}
	var refuses atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	front := httptestServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := int(refuses.Load()); status != 0 && (r.URL.Path == "/ui/live" || r.URL.Path == "/ui/check") {
			w.WriteHeader(status)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	b := open(t, &server{t: t, address: strings.TrimPrefix(front, "http://")})
	for _, tt := range []struct {
		status       int
		badge, strip string
	}{
		{401, "Signed out", "You are signed out."}, {403, "Updates ended", "This page cannot be shown any more."},
		{404, "Updates ended", "This page cannot be shown any more."},
		{204, "Trying again", "This page goes on by itself."}, {503, "Trying again", "This page goes on by itself."},
	} {
		refuses.Store(int64(tt.status))
		b.visit(front + "/ui/bulk-actions")
		b.badge(tt.badge)
		b.see(tt.strip)
		if tt.badge == "Trying again" {
			refuses.Store(0)
			b.badge("Live")
		}
	}
}

// TestNothingIsLostWhileTheServerIsAway presses a button and a link of pages whose server has gone.
func TestNothingIsLostWhileTheServerIsAway(t *testing.T) {
	s, d := serve(t), service(t)
	s.call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":"%s/award"}`, d.URL), nil)
	s.until(s.bulk(`{"name":"spring","start":true,"steps":[{"action":"award"}]}`, rows("user", 3)), "completed")
	b := open(t, s)
	form := s.url("/ui/settings/new/tenant")
	b.visit(form)
	b.fill("Name", "growth")
	b.fill("Weight", "7")
	s.kill()
	b.press("Create the tenant")
	b.see("The server does not answer.", "What you typed is still here.")
	b.do(chromedp.Click(".nav a[href$='/resources']", chromedp.ByQuery))
	b.see("Your form has not been sent yet. It is sent as soon as the server answers.")
	var typed string
	if b.do(chromedp.Value("#"+b.field("Weight"), &typed, chromedp.ByQuery)); typed != "7" || b.where() != form {
		t.Errorf("on %s the weight is %q", b.where(), typed)
	}
	s.start()
	for end := time.Now().Add(patience); b.where() == form && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	b.see("growth")
	var made struct{ Weight float64 }
	if s.call("GET", "/v1/tenants/growth", "", &made); made.Weight != 7 {
		t.Errorf("the form was sent with the weight %v", made.Weight)
	}

	b.visit(s.url("/ui/bulk-actions"))
	b.badge("Live")
	s.kill()
	b.badge("Trying again")
	b.press("spring")
	b.see("The server does not answer. The page opens as soon as it answers.")
	s.start()
	b.see("Latest events")

	b.visit(s.url("/ui/new")) // a page without a stream
	s.kill()
	b.do(chromedp.Click(".foot a[href$='/help']", chromedp.ByQuery))
	b.see("The server does not answer. The page opens as soon as it answers.")
	s.start()
	b.see("Keys")
}
