package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// status sends a request for a host to an address, and returns the status of the answer.
func status(t *testing.T, method, url, host string, header http.Header) int {
	t.Helper()
	body := ""
	if method == http.MethodPost {
		body = `{"name":"n","scopes":["admin"]}`
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Header = host, header
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close() // the status is all that counts
	return a.StatusCode
}

func TestAServerWithoutKeysAnswersToItsOwnNamesAlone(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Server: server.Options{Hosts: []string{"Weir.example.com", "*.inner.test", "192.0.2.7"}}})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	port := n.URL[strings.LastIndexByte(n.URL, ':'):]
	for _, host := range []string{
		"localhost", "LOCALHOST" + port, "localhost.", "app.localhost", "127.0.0.1" + port, "127.9.9.9", "[::1]" + port, "[::1]", "[::ffff:127.0.0.1]",
		"weir.example.com", "WEIR.EXAMPLE.COM:1", "a.inner.test", "a.b.inner.test", "192.0.2.7:80", "localhost:9000", // a tunnel has a port of its own
	} {
		if got := status(t, "GET", n.URL+"/v1/whoami", host, nil); got != 200 {
			t.Errorf("Host %s: status %d, want 200", host, got)
		}
	}
	for _, host := range []string{
		"evil.test", "evil.test" + port, "localhost.evil.test", "127.0.0.1.evil.test", "xlocalhost", "weir.example.com.evil.test", "inner.test", "xinner.test",
		"0.0.0.0" + port, "10.0.0.1", "[fe80::1]", "192.0.2.8", "127.1", "2130706433", "localhost:1:2",
	} {
		for _, path := range []string{"/v1/whoami", "/metrics", "/docs", "/openapi.json", "/nothing", "/v1/bulk-actions/ba_1/events", "/v1/uploads/upl_1"} {
			if got := status(t, "GET", n.URL+path, host, nil); got != 421 {
				t.Errorf("Host %s: GET %s: status %d, want 421", host, path, got)
			}
		}
		if got := status(t, "GET", n.URL+"/healthz", host, nil); got != 200 {
			t.Errorf("Host %s: /healthz: status %d, want 200: load balancers use names of their own", host, got)
		}
	}
}

func TestABrowserCannotChangeAnythingFromAnotherSite(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	host := strings.TrimPrefix(n.URL, "http://")
	for _, tt := range []struct {
		name, method, path string
		header             http.Header
		want               int
	}{
		{"a new browser, another site", "POST", "/v1/keys", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"a new browser, another port of the host", "POST", "/v1/keys", http.Header{"Sec-Fetch-Site": {"same-site"}}, 403},
		{"an old browser", "POST", "/v1/keys", http.Header{"Origin": {"http://evil.test"}}, 403},
		{"a page from a file", "POST", "/v1/keys", http.Header{"Origin": {"null"}}, 403},
		{"a body that is streamed", "POST", "/v1/bulk-actions/ba_1/items", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"an upload", "POST", "/v1/uploads", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"a page of the server", "POST", "/v1/keys", http.Header{"Sec-Fetch-Site": {"same-origin"}, "Content-Type": {"application/json"}}, 201},
		{"an old browser, a page of the server", "POST", "/v1/keys", http.Header{"Origin": {"http://" + host}, "Content-Type": {"application/json"}}, 201},
		{"a program", "POST", "/v1/keys", http.Header{"Content-Type": {"application/json"}}, 201},
		{"a link from another site, which the page cannot read", "GET", "/v1/whoami", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 200},
	} {
		if got := status(t, tt.method, n.URL+tt.path, host, tt.header); got != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, got, tt.want)
		}
	}
}
