package server_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/server"
)

// byCookie knows a user by the cookie "user".
func byCookie(r *http.Request) (server.Principal, error) {
	c, err := r.Cookie("user")
	if err != nil {
		return server.Principal{}, &server.SignInError{URL: "/login?next=" + r.URL.Path}
	}
	switch c.Value {
	case "ann":
		return server.Principal{Name: "ann", Tenants: []string{"acme"}, Scopes: []server.Scope{server.Read, server.Submit, server.Control}}, nil
	case "viewer":
		return server.Principal{Name: "viewer", Tenants: []string{"acme"}, Scopes: []server.Scope{server.Read}}, nil
	case "root":
		return server.Principal{Name: "root", AllTenants: true, Scopes: []server.Scope{server.Admin}}, nil
	case "of no tenant":
		return server.Principal{Name: "x", Scopes: []server.Scope{server.Admin}}, nil
	case "of both":
		return server.Principal{Name: "x", AllTenants: true, Tenants: []string{"acme"}, Scopes: []server.Scope{server.Admin}}, nil
	case "without a name":
		return server.Principal{AllTenants: true, Scopes: []server.Scope{server.Admin}}, nil
	case "of an unknown scope":
		return server.Principal{Name: "x", AllTenants: true, Scopes: []server.Scope{"everything"}}, nil
	}
	return server.Principal{}, errors.New("the table of users is away")
}

func TestTheLoginOfTheProgramDecides(t *testing.T) {
	m := mount(t, server.Options{Prefix: "/bulk", Principal: byCookie})
	as := func(user string) []string { return []string{"Cookie", `user="` + user + `"`} }
	m.want(201, "POST", "/bulk/v1/bulk-actions", oneItem, as("ann")...)
	m.want(403, "POST", "/bulk/v1/bulk-actions", oneItem, as("viewer")...)
	m.want(200, "GET", "/bulk/v1/bulk-actions", "", as("viewer")...)
	m.want(200, "GET", "/bulk/v1/nodes", "", as("root")...)
	m.want(403, "GET", "/bulk/v1/nodes", "", as("viewer")...)
	for _, user := range []string{"of no tenant", "of both", "without a name", "of an unknown scope", "who fails"} {
		m.want(500, "GET", "/bulk/v1/bulk-actions", "", as(user)...)
		m.want(500, "GET", "/bulk/ui/", "", as(user)...)
	}
	if _, text := m.want(401, "GET", "/bulk/v1/bulk-actions", ""); !strings.Contains(text, "sign in at /login?next=/bulk/v1/bulk-actions") {
		t.Errorf("who is not signed in: %s", text)
	}
	if _, text := m.want(409, "POST", "/bulk/v1/keys", `{"name":"x","scopes":["read"]}`, as("root")...); !strings.Contains(text, "keys_not_used") {
		t.Errorf("a key: %s", text)
	}
	if _, text := m.want(200, "GET", "/bulk/v1/whoami", "", as("ann")...); !strings.Contains(text, `"user:ann"`) {
		t.Errorf("whoami: %s", text)
	}
}

func TestAClientCannotSayWhoItIs(t *testing.T) {
	m := mount(t, server.Options{Prefix: "/bulk", Principal: byCookie})
	for _, header := range [][]string{
		{"Authorization", "Bearer wk_" + strings.Repeat("0", 75)}, {"Principal", "root"}, {"X-Forwarded-User", "root"},
		{"Cookie", "weir_session=x"}, {"X-Forwarded-Prefix", "/evil"},
	} {
		m.want(401, "GET", "/bulk/v1/whoami", "", header...)
	}
}

func TestOtherSitesCannotUseTheCookieOfTheLogin(t *testing.T) {
	m := mount(t, server.Options{Prefix: "/bulk", Principal: byCookie})
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		header = append(header, "Cookie", "user=ann")
		if _, text := m.want(403, "POST", "/bulk/v1/bulk-actions", oneItem, header...); !strings.Contains(text, "cross_site") {
			t.Errorf("%v: %s", header, text)
		}
		m.want(403, "POST", "/bulk/ui/bulk-actions/ba_1/pause", "", header...)
	}
	m.want(201, "POST", "/bulk/v1/bulk-actions", oneItem, "Sec-Fetch-Site", "same-origin", "Cookie", "user=ann")
}

func TestPagesOfAListedOriginCannotUseTheCookieOfTheLogin(t *testing.T) {
	const origin = "https://app.example"
	byHeader := func(r *http.Request) (server.Principal, error) {
		if r.Header.Get("Authorization") == "Bearer ann" {
			r.AddCookie(&http.Cookie{Name: "user", Value: "ann"})
		}
		return byCookie(r)
	}
	m := mount(t, server.Options{Prefix: "/bulk", Principal: byHeader, Origins: []string{origin}})
	from := []string{"Sec-Fetch-Site", "cross-site", "Origin", origin}
	if _, text := m.want(403, "POST", "/bulk/v1/bulk-actions", oneItem, append(from, "Cookie", "user=ann")...); !strings.Contains(text, "cross_site") {
		t.Errorf("with the cookie: %s", text)
	}
	resp, _ := m.want(201, "POST", "/bulk/v1/bulk-actions", oneItem, append(from, "Authorization", "Bearer ann")...)
	if got := resp.Header.Get("Access-Control-Allow-Origin"); got != origin || resp.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("with a header of its own: %v", resp.Header)
	}
	m.want(403, "POST", "/bulk/v1/bulk-actions", oneItem, "Origin", "https://evil.example", "Authorization", "Bearer ann")
	if resp, _ = m.want(200, "GET", "/bulk/openapi.json", "", from...); !slices.Equal(resp.Header.Values("Vary"), []string{"Origin", "Accept-Encoding"}) {
		t.Errorf("the document varies with %q", resp.Header.Values("Vary"))
	}
}

func TestThePagesHaveTheLoginOfTheProgram(t *testing.T) {
	m := mount(t, server.Options{Prefix: "/bulk", Principal: byCookie})
	resp, _ := m.want(http.StatusSeeOther, "GET", "/bulk/ui/bulk-actions", "", "Accept", "text/html")
	if to := resp.Header.Get("Location"); to != "/login?next=/bulk/ui/bulk-actions" {
		t.Errorf("who is not signed in is sent to %q", to)
	}
	m.want(401, "GET", "/bulk/ui/live?of=/bulk/ui/", "")
	m.want(401, "POST", "/bulk/ui/bulk-actions/ba_1/pause", "")
	m.want(200, "GET", "/bulk/ui/assets/style.css", "")
	_, text := m.want(200, "GET", "/bulk/ui/", "", "Cookie", "user=ann")
	if strings.Contains(text, "sign-out") || strings.Contains(text, "sign-in") {
		t.Error("the page has a login of its own")
	}
	m.want(404, "POST", "/bulk/ui/sign-in", "key=x", "Cookie", "user=ann", "Content-Type", "application/x-www-form-urlencoded")
	_, text = m.want(201, "POST", "/bulk/v1/bulk-actions", `{"name":"of acme","steps":[{"action":"greet"}],"items":[{"id":"a"}]}`, "Cookie", "user=ann")
	id := text[strings.Index(text, "ba_"):][:len("ba_")+26]
	m.want(403, "POST", "/bulk/ui/bulk-actions/"+id+"/start", "", "Cookie", "user=viewer")
	m.want(http.StatusSeeOther, "POST", "/bulk/ui/bulk-actions/"+id+"/start", "", "Cookie", "user=ann")
}

// A live page asks again and again: it ends when the person signs out.
func TestALivePageEndsWithTheSession(t *testing.T) {
	var out atomic.Bool
	m := mount(t, server.Options{Prefix: "/bulk", Principal: func(r *http.Request) (server.Principal, error) {
		if out.Load() {
			return server.Principal{}, &server.SignInError{}
		}
		return server.Principal{Name: "ann", AllTenants: true, Scopes: []server.Scope{server.Read}}, nil
	}})
	r, err := http.NewRequestWithContext(t.Context(), "GET", m.url+"/bulk/ui/live?of=/bulk/ui/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := m.web.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out.Store(true)
	var text strings.Builder
	for buf := make([]byte, 1<<10); ; {
		n, err := resp.Body.Read(buf)
		if text.Write(buf[:n]); err != nil {
			break
		}
	}
	if !strings.Contains(text.String(), "event: failed") {
		t.Errorf("the stream ended without saying why: %s", text.String())
	}
}

func TestAPIKeysWithoutALoginOfTheProgram(t *testing.T) {
	admin := strings.Repeat("a", 32)
	m := mount(t, server.Options{Prefix: "/bulk", AdminKeys: []string{admin}})
	m.want(401, "GET", "/bulk/v1/bulk-actions", "")
	m.want(200, "GET", "/bulk/v1/bulk-actions", "", "Authorization", "Bearer "+admin, "Host", "weir.example.com")
	if _, text := m.want(401, "GET", "/bulk/ui/", ""); !strings.Contains(text, `action="/bulk/ui/sign-in"`) {
		t.Error("the pages do not ask for a key")
	}
	resp, _ := m.want(http.StatusSeeOther, "POST", "/bulk/ui/sign-in", "key="+admin, "Content-Type", "application/x-www-form-urlencoded")
	if c := resp.Cookies(); len(c) != 1 || c[0].Path != "/bulk/ui" || resp.Header.Get("Location") != "/bulk/ui/" {
		t.Errorf("signing in sets %v, and leads to %q", c, resp.Header.Get("Location"))
	}
	key, err := m.client(client.Options{Key: admin}).Keys().Create(t.Context(), api.Key{Name: "x", Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	m.want(200, "GET", "/bulk/v1/whoami", "", "Authorization", "Bearer "+key.Key)
}

// An open server trusts who reaches it, so it has to be one that only this machine reaches.
func TestAnOpenServerIsForThisMachine(t *testing.T) {
	srv, err := server.New(t.Context(), opened(t), server.Options{Open: true, VaultKey: vaultKey(t), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, host, address string
		want                int
	}{
		{"loopback", "localhost:8080", "127.0.0.1", 200},
		{"loopback of IPv6", "[::1]:8080", "::1", 200},
		{"an address of the network", "localhost:8080", "192.168.1.5", 401},
		{"a page that has made its name resolve to loopback", "evil.example", "127.0.0.1", http.StatusMisdirectedRequest},
	} {
		r := httptest.NewRequest("GET", "/v1/whoami", nil)
		r.Host = tt.host
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.ParseIP(tt.address), Port: 8080}))
		w := httptest.NewRecorder()
		if srv.ServeHTTP(w, r); w.Code != tt.want {
			t.Errorf("%s: %d, want %d: %s", tt.name, w.Code, tt.want, w.Body)
		}
	}
}
