package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/testkit/testenv"
)

const originsPage = `<!doctype html><script>
const server = %q, key = %q, found = {};
async function ask(what, path, how) {
	try {
		const a = await fetch(server + path, how);
		found[what] = a.status + (a.headers.get('Location') ? ' with its place' : '');
		return a;
	} catch { found[what] = 'not told'; }
}
const own = {Authorization: 'Bearer ' + key};
(async () => {
	const made = await ask('create', '/v1/bulk-actions', {method: 'POST', headers: {...own, 'Content-Type': 'application/json', 'Idempotency-Key': 'one'},
		body: JSON.stringify({steps: [{action: 'demo.award'}], items: [{id: 'u1'}], start: true})});
	if (made) {
		const ticket = await ask('ticket', made.headers.get('Location') + '/events-ticket', {method: 'POST', headers: own});
		const stream = new EventSource(server + (await ticket.json()).url);
		found.watched = await new Promise(end => {
			stream.addEventListener('end', e => { stream.close(); end(JSON.parse(e.data).state); });
			stream.onerror = () => { if (stream.readyState === EventSource.CLOSED) end('refused'); };
		});
	}
	await ask('list', '/v1/bulk-actions', {headers: own});
	await ask('without a key', '/v1/bulk-actions', {});
	await fetch('/found', {method: 'POST', body: JSON.stringify(found)});
})();
</script>`

// TestScriptsOfAllowedOriginsUseTheAPI opens a page of another origin in a real browser.
func TestScriptsOfAllowedOriginsUseTheAPI(t *testing.T) {
	const key = "wk_0123456789012345678901234567890123456789"
	for _, tt := range []struct {
		name   string
		listed bool
		want   map[string]string
	}{
		{"an origin that is listed", true, map[string]string{"create": "201 with its place", "ticket": "200", "watched": "completed", "list": "200", "without a key": "401"}},
		{"another origin", false, map[string]string{"create": "not told", "list": "not told", "without a key": "not told"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, mux := make(chan map[string]string, 1), http.NewServeMux()
			pages := httptest.NewServer(mux)
			t.Cleanup(pages.Close)
			_, port, _ := net.SplitHostPort(strings.TrimPrefix(pages.URL, "http://"))
			origin := "http://" + net.JoinHostPort("app.test", port)
			file := filepath.Join(t.TempDir(), "admin.key")
			if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			set := map[string]string{"admin_key_file": file, "allowed_origins": "http://other.test"}
			if tt.listed {
				set["allowed_origins"] += "," + origin
			}
			h := open(t, clitest.Settings(t, set), nodeParts(false))
			defer h.stop(t)
			mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = fmt.Fprintf(w, originsPage, h.url(t), key) // the test fails without it
			})
			mux.HandleFunc("/found", func(_ http.ResponseWriter, r *http.Request) {
				var got map[string]string
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
					t.Error(err)
				}
				found <- got
			})
			testenv.Browse(t, origin+"/", map[string]string{"app.test": "127.0.0.1"})
			select {
			case got := <-found:
				if !maps.Equal(got, tt.want) {
					t.Errorf("the page got %v, want %v", got, tt.want)
				}
			case <-time.After(60 * time.Second):
				t.Fatal("the page told nothing within a minute")
			}
		})
	}
}
