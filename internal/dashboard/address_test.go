package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestAddressesOfFormsLeadToTheirPage(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	t.Cleanup(func() { close(open) })
	made := n.Make(oneStep, `{"id":"u1"}`+"\n")
	web := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]string{
		"/": "/ui/", "/ui": "/ui/", "/ui/theme": "/ui/", "/ui/sign-out": "/ui/", "/ui/lanes/pause": "/ui/lanes", "/ui/lanes/p00/send/pin": "/ui/lanes",
		"/ui/resources/send/limits": "/ui/resources", "/ui/resources/send/circuit/probe": "/ui/resources?of=send", "/ui/failed/retry": "/ui/failed",
		"/ui/bulk-actions/" + made.ID + "/pause": "/ui/bulk-actions/" + made.ID, "/ui/bulk-actions/" + made.ID + "/retry": "/ui/bulk-actions/" + made.ID,
		"/ui/settings/connections/crm/test": "/ui/settings/connections",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if at := resp.Header.Get("Location"); resp.StatusCode != http.StatusSeeOther || at != want {
			t.Errorf("%s answers %d and leads to %q, want %q", path, resp.StatusCode, at, want)
		}
	}
	b := newBrowser(t, n)
	for _, path := range []string{"/ui/assets/", "/ui/nothing"} {
		if status, page := b.get(path); status != http.StatusNotFound || strings.Contains(page, "live.js</a>") {
			t.Errorf("%s has the status %d", path, status)
		}
	}
	_, page := b.get("/ui/settings/new/key")
	b.want(page, "Keys are not required yet", "admin_key_file")
}
